"""Arcs of trees: the gold ones of a batch, what heads answer, and the counts of what is right."""
