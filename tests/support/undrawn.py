"""Reports without drawing, which takes most of their time and has its own tests."""

import pytest

PAGE = "<title>A report</title>"


def leave_drawing_out(patch: pytest.MonkeyPatch) -> None:
    """Let a report write a page that has nothing but a title.

    Args:
        patch: fixture that restores drawing.
    """
    patch.setattr("headscope.reporting.report_page.render_report", lambda *_, **__: PAGE)
