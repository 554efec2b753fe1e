"""Options as they are offered: one declaration, made into keyword arguments and into what is typed."""
