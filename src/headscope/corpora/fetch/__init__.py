"""Corpora by name, from the hub into plain files."""
