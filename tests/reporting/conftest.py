"""The browser of the report's pages."""

from support.browser import browser, visit_file

__all__ = ["browser", "visit_file"]
