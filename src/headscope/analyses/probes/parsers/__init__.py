"""The parsers: their scores for pairs of words, and the decoding of trees."""
