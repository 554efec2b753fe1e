"""Pages: escaping, the bundle of scripts and styles, and the assembly of one self-contained file."""

from headscope.views.markup import Html, el, raw, text
from headscope.views.page import Page, assemble

__all__ = ["Html", "Page", "assemble", "el", "raw", "text"]
