"""Access to one run's folder: manifest, tables, labeled arrays."""
