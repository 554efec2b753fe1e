"""The dependents of a sentence with a tree and their heads, as questions for the examples of figure 5."""

from headscope.analyses.syntax.arcs.gold_arcs import ArcTable
from headscope.encoding.segment import Segment
from headscope.encoding.sentence_packing import arcs_of_fields
from headscope.examples.arc_examples import ArcQuestion, Ask, WantedHead

_ANY = ArcTable(("root", "punct", "other"))  # to find the attending word: the clitic for a possessor


def syntax_questions(*, folded: bool = False) -> Ask:
    """Return a function that asks for the head of each dependent of a relation; `folded` ignores label sub-types."""

    def ask(wanted: WantedHead, segment: Segment) -> list[ArcQuestion]:
        origin = f"segment {segment.index + 1} of document {segment.document}"
        heads, relations = arcs_of_fields(segment.fields, len(segment.words), origin)
        labels = [relation.partition(":")[0] if folded else relation for relation in relations]
        arcs = _ANY.arcs(segment.words, heads, labels)
        return [
            ArcQuestion(int(dependent), (int(head),))
            for dependent, head, relation in zip(arcs.dependents, arcs.heads, labels, strict=True)
            if relation == wanted.relation and head >= 0
        ]

    return ask
