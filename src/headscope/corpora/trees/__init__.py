"""Treebanks: one file per format, and the rules for every tree."""
