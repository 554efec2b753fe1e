from support.commands import cli
from support.explorer_pages import visit_server

__all__ = ["cli", "visit_server"]
