"""What a model is trained to foretell: a file for each objective."""
