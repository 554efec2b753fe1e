"""Attention and its row statistics in one pass over blocks of scores, for the families that it supports."""
