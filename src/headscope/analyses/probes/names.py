"""What tables call the probes of section 5."""

ATTENTION, ATTENTION_WORDS = "attention", "attention and words"
DISTANCES_WORDS, RIGHT_BRANCHING = "distances and words", "right-branching"
