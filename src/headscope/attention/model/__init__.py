"""The source of tiles that runs a model and taps its attention, with gradients if they are needed."""
