"""Text without annotation: plain lines, and the original's features files."""
