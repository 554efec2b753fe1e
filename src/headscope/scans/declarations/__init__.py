"""Declarations of options, of analyses with their stages, and of commands; nothing here imports heavy packages."""
