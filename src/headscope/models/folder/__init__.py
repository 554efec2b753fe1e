"""Checks of a model folder before a library reads it: no code, no pickle, nothing that takes forever."""
