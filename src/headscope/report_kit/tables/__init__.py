"""Tables of the report: their cells, their rows, and their formats for papers and terminals."""
