"""Changes of attention heads while a model runs, and their effect on its predictions."""
