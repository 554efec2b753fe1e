"""Groups of a head's rows: k-means, and whether groups are separated and come out again."""
