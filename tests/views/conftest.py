"""The browser of the views' pages, and the pages."""

from support.attention_pages import made, pages, visit
from support.browser import browser, visit_file

__all__ = ["browser", "made", "pages", "visit", "visit_file"]
