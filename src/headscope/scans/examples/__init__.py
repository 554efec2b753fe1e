"""Real sentences on which heads are drawn."""
