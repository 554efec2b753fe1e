"""Reports whose drawing is left out, which takes most of their time and has tests of its own."""

import pytest

PAGE = "<title>A report</title>"


def leave_drawing_out(patch: pytest.MonkeyPatch, *, page: bool = True) -> None:
    """Let a report write no files of figures, and a page that has nothing but a title.

    Args:
        patch: which puts back what draws.
        page: whether the page is left out too, where a test reads nothing on it.
    """
    patch.setattr("headscope.reporting.report_page.write_figures", lambda *_: [])
    if page:
        patch.setattr("headscope.reporting.report_page._rendered", lambda *_: PAGE)
