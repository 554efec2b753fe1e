"""Errors that tell a user what was expected, what was given and what to do."""


class HeadscopeError(Exception):
    """A problem that the user can fix; the message says how.

    The command line prints the message without a traceback and exits with code 2.
    """


class InputError(HeadscopeError):
    """A file or text that cannot be read as requested."""


class ModelError(HeadscopeError):
    """A model or tokenizer that cannot be loaded or examined."""


class MemoryShortError(HeadscopeError):
    """Inputs for which there is not enough memory.

    Args:
        text: message that says what to do.
        inputs: number of inputs that were computed together.
    """

    def __init__(self, text: str, *, inputs: int) -> None:
        super().__init__(text)
        self.inputs = inputs


class AttentionError(HeadscopeError):
    """Attention that is not a distribution: NaN or infinite weights."""


class OutputError(HeadscopeError):
    """A path that results cannot be written to."""


class OptionError(HeadscopeError):
    """An option with an unknown value; the message lists the known ones."""


class ExtensionError(HeadscopeError):
    """An installed package that extends headscope and cannot be used."""
