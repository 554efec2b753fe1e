"""Whether a pronoun would be understood: the rules of a careful reader, as pure functions."""

from collections.abc import Sequence
from dataclasses import dataclass

from headscope_grammar.cast.entities import SUBJECTS, Entity

CORE = (*SUBJECTS, "obj", "iobj")


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where in a sentence a mention stands.

    Attributes:
        subject: the subject of its clause, where that has been named already.
        depth: 0 directly under the root, more below.
        inside: the entity whose noun phrase it stands in.
    """

    subject: Entity | None = None
    depth: int = 0
    inside: Entity | None = None


def clear(entity: Entity, relation: str, place: Place, *, entities: Sequence[Entity], sentence: int) -> bool:
    """Tell whether a pronoun would be understood: by gender, number and recency, as a reader judges.

    The entity was mentioned in this sentence or the one before. Nobody else whom the pronoun fits was,
    unless grammar or prominence decides: a possessor that is the subject of its clause; an object that
    cannot be its clause's subject; the last sentence's subject taken up as a subject, when the others
    stood in that sentence's margins only; or the one person that this sentence itself has named.
    """
    last = entity.mentions[-1]
    if last.sentence < sentence - 1:
        return False
    rivals = [
        other
        for other in _rivals(entity, relation, place, entities=entities, sentence=sentence)
        if not _aside(other, entity, sentence)
    ]
    if not rivals:
        return True
    here = [other for other in rivals if other.mentions[-1].sentence == sentence]
    if relation == "nmod:poss" and place.subject is entity:
        return not [other for other in here if other.mentions[-1].order > last.order]
    if relation in ("obj", "iobj", "obl") and rivals == [place.subject]:
        return last.sentence == sentence - 1 or last.main
    if here:
        return False
    if last.sentence == sentence:
        return last.relation in SUBJECTS and relation in (*SUBJECTS, "nmod:poss")
    if relation in SUBJECTS and last.relation in SUBJECTS and last.main:
        return all(
            seen.relation not in CORE for other in rivals for seen in other.mentions if seen.sentence == sentence - 1
        )
    return False


def _rivals(entity: Entity, relation: str, place: Place, *, entities: Sequence[Entity], sentence: int) -> list[Entity]:
    return [
        other
        for other in entities
        if (other.agreement == entity.agreement or _unsure(other, entity))
        and (other is not place.inside or relation != "nmod:poss")
        and not other.holds(entity)
        and other.mentions
        and other.mentions[-1].sentence >= sentence - 1
    ]


def _unsure(other: Entity, entity: Entity) -> bool:
    """Tell whether a pronoun of the entity could be the other's, whose sex the reader does not know."""
    return other.kind == "person" and other.person == 3 and not other.sexed and entity.agreement in ("f", "m")


def _aside(other: Entity, entity: Entity, sentence: int) -> bool:
    """Tell whether a thing of another kind was mentioned only in passing: the place where it happened."""
    return (
        entity.agreement == "n"
        and other.kind != entity.kind
        and all(seen.relation not in CORE for seen in other.mentions if seen.sentence >= sentence - 1)
    )
