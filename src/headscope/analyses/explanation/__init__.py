"""What a head looks at, explained by features with names, and the share of its attention that they predict."""
