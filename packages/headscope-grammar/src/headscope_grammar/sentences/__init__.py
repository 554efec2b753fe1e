"""Kinds of sentences: a function each, from a scene to a tree."""
