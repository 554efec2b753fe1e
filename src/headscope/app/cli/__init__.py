"""The command line: `program` puts it together, and each command that is no analysis's has a file."""
