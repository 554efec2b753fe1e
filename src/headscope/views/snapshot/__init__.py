"""One text looked at once: a model's attention on it, or attention that is there already, ready to be drawn."""
