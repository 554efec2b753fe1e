"""Coreference: one file per format, and the bracket notation that they share."""
