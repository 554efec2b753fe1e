"""A panel of a section with one figure for each kind of attention: findings, the figure, its caption."""

from headscope.report_kit.captions import caption, captioned
from headscope.report_kit.kinds import Kind
from headscope.report_kit.links import kind_link, linked
from headscope.report_kit.pictures.drawing import placed
from headscope.report_kit.report_parts import Context, Figure
from headscope.views.markup import Html, el


def kind_panel(about: Context, kind: Kind, figure: Figure, *, topic: str, label: str, text: str) -> list[Html]:
    """Return the heading, the findings and the figure; empty where the figure has no picture of the kind.

    Args:
        about: report context of the run.
        kind: kind of attention.
        figure: figure, drawn once for each kind.
        topic: topic of the findings.
        label: alternative text of the picture.
        text: caption.
    """
    picture = placed(about, figure, label, ending=kind.ending)
    if not picture:
        return []
    return [
        *kind.heading(),
        *linked(about.findings_on(topic, kind=kind)),
        captioned(el("div", picture, class_="panels"), caption(text), kind_link(about, figure, kind, "This figure")),
    ]
