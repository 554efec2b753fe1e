"""A cache of the slow parts of a report, so that it can be killed around each of its renames in minutes."""

from contextlib import contextmanager
from typing import Any

import pytest

from headscope.present import drawing
from headscope.reporting import report_page as page
from headscope.running import writing


@contextmanager
def remembered(*, stages: bool):
    """Draw each figure once, and if `stages` measure each stage once; after that they are only written."""
    found: dict[str, Any] = {}
    inline: list[str] = []  # the page's pictures in order
    place = [0]
    measure, draw, picture = writing.measure_stage, page.render_report, drawing.svg_text

    def measured(stage: Any, *given: Any) -> Any:
        if stage.name not in found:
            found[stage.name] = measure(stage, *given)
        return found[stage.name]

    def pictured(figure: Any) -> str:
        if place[0] == len(inline):
            inline.append(picture(figure))
        place[0] += 1
        return inline[place[0] - 1]

    def drawn(*given: Any, **more: Any) -> str:
        place[0] = 0
        return draw(*given, **more)

    with pytest.MonkeyPatch.context() as patch:
        if stages:
            patch.setattr(writing, "measure_stage", measured)
        patch.setattr(page, "render_report", drawn)
        patch.setattr(drawing, "svg_text", pictured)
        yield
