"""The parsers themselves: what each sees of a pair of words, and how trees are read off."""
