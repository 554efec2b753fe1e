"""What takes a report its time, remembered, so that it can be killed about each of its renames in minutes."""

from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headscope.present import drawing
from headscope.reporting import report_page as page
from headscope.running import writing
from headscope.storage.atomic import write_bytes


@contextmanager
def remembered(*, stages: bool):
    """Draw each figure once, and measure each stage once where asked to; from then on what was found is only written.

    In the same order, so that the same renames are made.
    """
    found: dict[str, Any] = {}
    figures: dict[str, bytes] = {}
    inline: list[str] = []  # the page's own pictures, in its order
    place = [0]
    measure, draw, picture = writing.measure_stage, page.write_figures, drawing.svg_text

    def measured(stage: Any, *given: Any) -> Any:
        if stage.name not in found:
            found[stage.name] = measure(stage, *given)
        return found[stage.name]

    def pictured(figure: Any) -> str:
        if place[0] == len(inline):
            inline.append(picture(figure))
        place[0] += 1
        return inline[place[0] - 1]

    def drawn(inputs: Any, folder: Path) -> list[Path]:
        place[0] = 0
        if not figures:
            paths = draw(inputs, folder)
            # In the order in which they were written.
            figures.update((path.name, path.read_bytes()) for path in sorted(paths, key=lambda p: p.stat().st_mtime_ns))
            return paths
        for name, content in figures.items():
            write_bytes(folder / name, content)
        return sorted(folder / name for name in figures)

    with pytest.MonkeyPatch.context() as patch:
        if stages:
            patch.setattr(writing, "measure_stage", measured)
        patch.setattr(page, "write_figures", drawn)
        patch.setattr(drawing, "svg_text", pictured)
        yield
