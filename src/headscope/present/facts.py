"""Facts: claims that the numbers of a run support, as typed data without words; `page.j2` has the words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from headscope.report_kit.kinds import Kind
from headscope.report_kit.small_figures import SmallFigure


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A claim about a run; a subclass has a field for each value that its words mention.

    The template of the analysis puts it into words in a block `{% call(f) fact("name") %}`, where the name is that of
    the class in snake case: `SinkButActive` is `sink_but_active`.

    Attributes:
        kind: kind of attention that the claim is about; None for the model as a whole.
        within: name of what it is measured in, such as an experiment; a part of the topic of its sentences.
        figure: small figure next to its sentence on the first screen; a sentence that names heads has a grid without.
        topic: topic of its sentences; the first screen has one sentence of a topic before it has a second.
        rank: position of the topic on the first screen, the lowest number first; 0 if it never appears there.
        decoder_rank: the same for models with decoder attention only, if it differs.
    """

    kind: Kind | None = None
    within: str = ""
    figure: SmallFigure | None = None
    topic: ClassVar[str]
    rank: ClassVar[int] = 0
    decoder_rank: ClassVar[int] = 0

    @classmethod
    def name(cls) -> str:
        """Return the name of the claim in templates."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()
