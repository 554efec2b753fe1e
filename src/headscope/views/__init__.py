"""Pages: escaping, the bundle of scripts and styles, and the assembly of one self-contained file."""

from headscope.views.markup import Html, Page, assemble, el, raw, text

__all__ = ["Html", "Page", "assemble", "el", "raw", "text"]
