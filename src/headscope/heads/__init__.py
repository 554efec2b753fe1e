"""What single heads do."""
