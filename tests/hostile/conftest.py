from support.commands import cli

__all__ = ["cli"]
