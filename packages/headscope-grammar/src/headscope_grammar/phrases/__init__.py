"""Clauses and what hangs on them: verbs, states, modifiers, times, relative clauses."""
