"""From a model to a stream of attention tiles."""
