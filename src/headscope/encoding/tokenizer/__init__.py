"""What a tokenizer makes of a text: pieces, the words and characters that they cover, and how they read."""
