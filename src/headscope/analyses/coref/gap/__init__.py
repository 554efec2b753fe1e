"""GAP: a pronoun and two names."""
