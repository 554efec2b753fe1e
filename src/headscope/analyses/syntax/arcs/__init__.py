"""Arcs of trees: the gold arcs of a batch, the predictions of heads, and the counts of right predictions."""
