"""The command line: `program` assembles it, and each command that does not belong to an analysis has a file."""
