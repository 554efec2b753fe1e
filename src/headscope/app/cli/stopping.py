"""What is said when the user stops a command."""

STOPPED = "stopped; nothing half-written was left, and what was finished is kept"
