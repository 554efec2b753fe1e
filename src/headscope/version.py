"""The version of the library, which the package and the command line report."""

__version__ = "0.1.0"
