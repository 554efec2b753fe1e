"""Pages: escaping, the bundle of scripts and styles, and the assembly of one self-contained file."""

from headscope.views.html_page import Page, assemble
from headscope.views.markup import Html, el, raw, text

__all__ = ["Html", "Page", "assemble", "el", "raw", "text"]
