"""Figures of dependency heads."""
