"""The predictions for which a model's loss is computed."""
