"""Models located, fetched and loaded, with their tokenizer, device and precision; the hash of their weights."""
