"""Packing of lines, sentences and documents into model inputs."""
