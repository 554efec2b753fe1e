"""What is called from Python, the command line, the notebook and the explorer."""
