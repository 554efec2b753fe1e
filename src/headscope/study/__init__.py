"""One run's directory: manifest, tables, labeled arrays."""
