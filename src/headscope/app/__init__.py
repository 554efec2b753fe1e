"""Command line, and later the server and the notebook."""
