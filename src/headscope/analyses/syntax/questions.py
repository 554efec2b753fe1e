"""What heads are asked of a sentence with a tree, for the examples of figure 5."""

from headscope.analyses.syntax.gold_arcs import ArcTable
from headscope.encoding.segment import Segment
from headscope.encoding.tree_fields import arcs_of_fields
from headscope.examples.arc_examples import ArcQuestion, Ask, WantedHead

_ANY = ArcTable(("root", "punct", "other"))  # for who answers: the clitic for a possessor


def syntax_questions(*, folded: bool = False) -> Ask:
    """Ask for the head of each dependent of a relation; `folded` compares labels without what follows the colon."""

    def ask(wanted: WantedHead, segment: Segment) -> list[ArcQuestion]:
        where = f"segment {segment.index + 1} of document {segment.document}"
        heads, relations = arcs_of_fields(segment.fields, len(segment.words), where)
        named = [relation.partition(":")[0] if folded else relation for relation in relations]
        arcs = _ANY.arcs(segment.words, heads, named)
        return [
            ArcQuestion(int(asked), (int(head),))
            for asked, head, relation in zip(arcs.asked, arcs.heads, named, strict=True)
            if relation == wanted.relation and head >= 0
        ]

    return ask
