"""A single text that the user types, read by a model, for commands that answer for one text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headscope.encoding.choices import LOADING

if TYPE_CHECKING:
    from headscope.encoding.segment import Segment
    from headscope.views.attention_snapshot import Axis
    from headscope.views.capture import AttentionReader
    from headscope.views.model_input import Reading


@dataclass(frozen=True)
class OneText:
    """A text as a model reads it.

    Attributes:
        reader: model that reads it, with `model`, `anatomy` and `encoder`.
        reading: the text's tokens.
    """

    reader: AttentionReader
    reading: Reading

    @property
    def segment(self) -> Segment:
        """The input of the model, or of its encoder."""
        return self.reading.source.segment

    def axes(self, kind: str) -> tuple[Axis, Axis]:
        """Return the attending and the attended tokens of a kind of attention."""
        queries, keys = self.reading.sides(kind)
        return queries.axis, (keys or queries).axis


def read_text(text: str, *, model: Any = None, **more: Any) -> OneText:
    """Let a model read a text.

    Args:
        text: the text.
        model: as for `reader_of`.
        more: options that load the model; others are ignored.

    Raises:
        HeadscopeError: the model cannot be loaded, or the text is too long for it.
    """
    from headscope.views.snapshot_of import reader_of

    return read_by(reader_of(model, **{name: value for name, value in more.items() if name in LOADING}), text)


def read_by(reader: AttentionReader, text: str, text_b: str | None = None, *, generate: int = 0) -> OneText:
    """Let a loaded model read a text, or a pair.

    Args:
        reader: the model.
        text: the text.
        text_b: second text of a pair.
        generate: number of tokens that the model adds.
    """
    from headscope.views.model_input import ReadingRequest, read

    request = ReadingRequest(text=text, text_b=text_b, generate=generate)
    reading = read(reader.loaded, reader.encoder, reader.anatomy, request, target_encoder=reader.target_encoder)
    return OneText(reader, reading)
