"""Coreference: a file a format, and the brackets that they share."""
