"""How far away is what a head attends to the most: an analysis of its own package, and a statistic."""
