"""Figures of distances between heads."""
