"""Snapshots of one text: a model's attention on it, or given attention, ready to be drawn."""
