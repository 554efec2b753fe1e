"""What heads meet with and add to the residual stream, as vectors and their norms."""
