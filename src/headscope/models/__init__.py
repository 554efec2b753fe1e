"""Models: found, checked, loaded; what heads they have; random weights, task heads, losses, generation."""
