"""Tables: their schemas and columns, and the check before one is written."""
