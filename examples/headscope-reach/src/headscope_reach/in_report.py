"""Whe report's section on reach: the range of the heads, and the meaning of the number."""

from headscope.report_kit.report_parts import Context, Parts, Section, section
from headscope.views.markup import el


def reach_section(context: Context) -> list[Section]:
    """Return the section; none where the run did not measure reach."""
    table = context.run.tables.get("reach")
    if table is None:
        return []
    paragraphs = [
        el(
            "p",
            f"The strongest key of {len(heads)} {kind} heads is between {heads['value'].min():.1f} and "
            f"{heads['value'].max():.1f} tokens away, on average over their rows.",
        )
        for kind, heads in table.groupby("kind", sort=False)
    ]
    return section(
        "reach", "Distance of the strongest key", "How far away is what a head attends to the most?", paragraphs
    )


PARTS = Parts(
    sections=reach_section,
    terms=(("Reach", "distance in tokens of the key with the largest weight, a mean over rows and inputs"),),
    explained=("reach",),
)
