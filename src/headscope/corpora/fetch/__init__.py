"""Corpora given by name, downloaded from the hub and converted to plain files."""
