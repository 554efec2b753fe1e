"""Changes of attention heads while a model runs (ablation: zero, mean, resample, uniform), and their effect on its predictions."""
