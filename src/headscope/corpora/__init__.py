"""Corpora: text, treebanks and mentions as streams of documents."""
