"""Errors that tell a user what was expected, what came and what to do."""


class HeadscopeError(Exception):
    """A problem that the user can mend; its text says how.

    The command line prints the text without a traceback and exits with code 2.
    """


class InputError(HeadscopeError):
    """A file or text that cannot be read as asked."""


class ModelError(HeadscopeError):
    """A model or tokenizer that cannot be loaded or looked into."""


class MemoryShortError(HeadscopeError):
    """Inputs for which there is not enough memory.

    Args:
        text: says what to do.
        inputs: how many were computed together.
    """

    def __init__(self, text: str, *, inputs: int) -> None:
        super().__init__(text)
        self.inputs = inputs


class AttentionError(HeadscopeError):
    """Attention that is not a distribution: NaN or infinite weights."""


class OutputError(HeadscopeError):
    """A place that results cannot be written to."""


class OptionError(HeadscopeError):
    """An option whose value is not known; the text lists the known ones."""


class ExtensionError(HeadscopeError):
    """An installed package that adds to headscope and cannot be used."""
