"""Heads as points: distances as tables, a map of two dimensions, clusters, and what layers have to do with them."""
