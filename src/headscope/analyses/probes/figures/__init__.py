"""Figures of probes."""
