"""Tables of the report: their cells, their rows, and how a paper and a terminal print them."""
