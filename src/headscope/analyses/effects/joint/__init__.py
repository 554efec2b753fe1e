"""The loss when several heads are removed at once, and its prediction from the effects of single heads."""
