"""How lines, sentences and documents become model inputs."""
