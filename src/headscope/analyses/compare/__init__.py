"""What differs between the heads of two models, or of one model before and after a change."""
