"""Entry points: Python functions, the command line, the notebook and the explorer."""
