"""What can be chosen and measured, declared: options, analyses with their stages and commands; nothing heavy."""
