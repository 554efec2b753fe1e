"""What a head looks at, explained by simple features, and the share of its attention that they predict."""
