"""One run's directory: manifest, tables, labelled arrays."""
