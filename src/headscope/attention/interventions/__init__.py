"""Changes of attention heads while a model runs (zero, mean and resample ablation), and their effect on predictions."""
