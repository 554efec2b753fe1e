"""Reports whose drawing is left out, which takes most of their time and has tests of its own."""

import pytest

PAGE = "<title>A report</title>"


def leave_drawing_out(patch: pytest.MonkeyPatch) -> None:
    """Let a report write a page that has nothing but a title.

    Args:
        patch: which puts back what draws.
    """
    patch.setattr("headscope.reporting.report_page.render_report", lambda *_, **__: PAGE)
