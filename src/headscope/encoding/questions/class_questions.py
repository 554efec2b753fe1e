"""Classification: the class that a classifier should predict for a segment, given by a field of its document."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from headscope.encoding.questions.loss_questions import Question
from headscope.encoding.segment import Segment
from headscope.errors import InputError
from headscope.visible import printable, shorten

_MOST_NAMED = 12  # classes that an error lists
_LONGEST = 60


class ClassOfText:
    """Ask for the class of a segment.

    A label is the name of a class, as in the model's configuration, or its number from 0.

    Args:
        field: field of a document that holds its label.
        classes: number of each class by name.
    """

    def __init__(self, field: str, classes: Mapping[str, int]) -> None:
        self.field, self.classes = field, dict(classes)
        self._numbers = set(self.classes.values())

    def __call__(self, segment: Segment) -> Question:
        """Make a segment's question.

        Raises:
            InputError: its document has no label, or an unknown one; lists the classes.
        """
        label = segment.fields.get(self.field)
        number = self._number(label)
        if number is None:
            came = "nothing" if label is None else shorten(printable(str(label)), _LONGEST)
            names = [shorten(printable(name), _LONGEST) for name in self.classes]
            more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
            where = segment.origin or f"document {segment.document}"
            raise InputError(
                f"{where}: its label {self.field!r} is {came}; expected a class of the model "
                f"({', '.join(names[:_MOST_NAMED])}{more}) or its number, from 0 to {len(names) - 1}"
            )
        return Question(segment=segment, targets=np.array([number]), of_whole=True)

    def _number(self, label: Any) -> int | None:
        """Return the number of a class; None for an unknown label."""
        text = str(label).strip()
        if text in self.classes:
            return self.classes[text]
        number = int(text) if text.isascii() and text.isdigit() and len(text) < _LONGEST else None
        return number if number in self._numbers else None
