"""Locating, fetching and loading models, with their tokenizer, device and precision; the hash of their weights."""
