"""The report of a run: findings in words, the head grid, every figure with its table."""
