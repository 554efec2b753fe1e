"""A text of random words, as a file."""

import numpy as np


def save_random_lines(path, words):
    """Save 24 documents of two lines, of 14 and 9 words, and return the path as text."""
    draw = np.random.default_rng(0)
    documents = [f"{' '.join(draw.choice(words, 14))}.\n{' '.join(draw.choice(words, 9))}." for _ in range(24)]
    path.write_text("\n\n".join(documents))
    return str(path)
