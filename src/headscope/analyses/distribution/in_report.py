"""What the report shows of what heads do over all rows."""

from headscope.analyses.distribution.scales import MEASURES
from headscope.reporting.kit.report_parts import Parts

TERMS = (
    ("Decile", "the value below which so many tenths of a head’s rows lie, special tokens left out, all rows counting "
     "equally: by interpolation in 128 fixed bins"),
    *((one.label.capitalize(), f"{one.meaning}; {one.unit}") for one in MEASURES.values()),
)  # fmt: skip

PARTS = Parts(terms=TERMS[:1], explained=("distribution",))
