"""Mentions of English without trees: head words, types, number, gender and person."""
