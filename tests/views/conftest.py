"""The pages of the views."""

from support.attention_pages import made, pages, visit

__all__ = ["made", "pages", "visit"]
