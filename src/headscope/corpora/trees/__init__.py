"""Treebanks: a file a format, and what every tree must obey."""
