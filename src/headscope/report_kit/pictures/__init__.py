"""Matplotlib figures and small SVG pictures as parts of a page."""
