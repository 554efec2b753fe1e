"""Output norms, by which the head grid can be colored and heads be laid out."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.analyses.norms.tables import IN_LAYER, IN_STREAM, OUTPUT
from headscope.report_kit.head_measures import HeadMeasure, in_head_order
from headscope.report_kit.report_parts import Context

TOPIC = "How much it writes"
_OF = {
    OUTPUT: ("Output", "units of length"),
    IN_LAYER: ("Output against the layer", "times its mean head"),
    IN_STREAM: ("Output against the stream", "times what the layer reads"),
}


def output_measures(about: Context) -> Iterator[HeadMeasure]:
    """Yield output norms, alone, against the layer's mean and against the stream; none where they are not known."""
    table = about.run.table("norms")
    if table is None:
        return
    known = table[table["key_class"].isna() & table["value"].notna()]
    layers = {
        name: set(map(tuple, of_statistic[["kind", "layer"]].to_numpy()))
        for name, of_statistic in known.groupby("statistic")
    }
    # Output norms are compared across layers only where the output itself is added to the stream.
    traced = layers.get(OUTPUT, set()) <= layers.get(IN_STREAM, set())
    for name, (label, unit) in _OF.items():
        rows = table[(table["statistic"] == name) & table["key_class"].isna()]
        if rows["value"].notna().any() and (traced or name != OUTPUT):
            values = {kind.name: in_head_order(rows[rows["kind"] == kind.name], kind) for kind in about.kinds}
            yield HeadMeasure(name=f"norms.{name}", label=label, topic=TOPIC, unit=unit, values=values)
