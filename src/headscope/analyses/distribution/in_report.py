"""The part of the report and the atlas on distributions over rows."""

from headscope.analyses.distribution.on_cards import distribution_cards
from headscope.analyses.distribution.section import FIGURE, distribution_section
from headscope.report_kit.report_parts import Parts

TERMS = (
    ("Decile", "the value below which so many tenths of a head’s rows lie, all rows counting alike and special tokens "
     "left out: by interpolation in fixed bins, narrow where rows pile up; its interval is that of the share of rows "
     "below it, over documents, read back as values, and holds all values of its bin"),
    ("Non-sink attention", "weight on neither the first token (cls, bos), nor a separator, nor a learned sink"),
    ("Distance of a row", "how many tokens away what it attends to is, before or after it: the mean by weight"),
)  # fmt: skip

PARTS = Parts(
    group="where",
    sections=distribution_section,
    figures=(FIGURE,),
    terms=TERMS,
    explained=("distribution",),
    cards=distribution_cards,
    needed={"distribution": ("distribution", "run headscope report again")},
)
