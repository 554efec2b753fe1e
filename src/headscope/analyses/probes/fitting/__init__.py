"""The training of probes: Adam with a falling rate, and Newton's method for the probe over attention alone."""
