"""Parts of speech of Universal Dependencies, for treebanks with any tags."""

TAGS = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM"),
    *("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
)
"""The universal parts of speech (UPOS)."""
_PENN = {
    "ADJ": ("JJ", "JJR", "JJS"),
    "ADP": ("IN", "RP"),
    "ADV": ("RB", "RBR", "RBS", "WRB"),
    "AUX": ("MD",),
    "CCONJ": ("CC",),
    "DET": ("DT", "PDT", "WDT"),
    "INTJ": ("UH",),
    "NOUN": ("NN", "NNS"),
    "NUM": ("CD",),
    "PART": ("POS", "TO"),
    "PRON": ("EX", "PRP", "PRP$", "WP", "WP$"),
    "PROPN": ("NNP", "NNPS"),
    "PUNCT": (".", ",", ":", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP"),
    "SYM": ("#", "$", "SYM"),
    "VERB": ("VB", "VBD", "VBG", "VBN", "VBP", "VBZ"),
    "X": ("ADD", "AFX", "FW", "GW", "LS", "XX"),
}
_UNIVERSAL = {**{tag: tag for tag in TAGS}, **{penn: tag for tag, penn_tags in _PENN.items() for penn in penn_tags}}


def universal_tag(tag: str) -> str:
    """Return the universal part of speech of a universal or Penn tag; empty if it is neither.

    Penn tags are less specific: `IN` is mapped to a preposition, though it may be a subordinating conjunction, and `VB`
    to a verb, though it may be an auxiliary.
    """
    return _UNIVERSAL.get(tag, "")
