"""Models: finding, checking and loading them; their heads; random weights, task heads, losses, generation."""
