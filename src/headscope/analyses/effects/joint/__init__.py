"""What is lost when several heads go at once, and how far the effects of single heads tell it."""
