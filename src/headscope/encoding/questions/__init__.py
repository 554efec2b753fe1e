"""What a model is asked to predict where its loss counts."""
