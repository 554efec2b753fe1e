"""The output of a tokenizer for a text: pieces, the words and characters that they cover, and their readable names."""
