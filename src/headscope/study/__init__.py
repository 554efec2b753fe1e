"""One run's folder, read: manifest, tables, labeled arrays."""
