"""The vectors of heads: queries, keys, and additions to the residual stream, with their norms."""
