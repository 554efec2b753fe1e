"""The mentions of a window and their antecedents, as questions for the examples of figure 5."""

import numpy as np

from headscope.analyses.coref.mention_table import FIELD, MentionTable
from headscope.encoding.segment import Segment
from headscope.examples.arc_examples import ArcQuestion, WantedHead


def coreference_questions(wanted: WantedHead, segment: Segment) -> list[ArcQuestion]:
    """Return a question on the antecedent of each scored mention."""
    table: MentionTable | None = segment.fields.get(FIELD)
    if table is None:
        return []
    return [
        ArcQuestion(int(word), tuple(np.flatnonzero(gold).tolist()), tuple(np.flatnonzero(candidates).tolist()))
        for word, gold, candidates in zip(table.scored_heads, table.right_words, table.candidate_words, strict=True)
    ]
