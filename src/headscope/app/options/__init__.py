"""Options: one declaration for keyword arguments in Python and for the command line."""
