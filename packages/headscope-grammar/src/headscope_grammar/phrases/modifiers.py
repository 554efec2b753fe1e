"""What hangs on a noun: which modifier, on which noun, between commas or not."""

from collections.abc import Sequence
from dataclasses import replace

from headscope_grammar.cast.entities import Entity
from headscope_grammar.cast.scene import Scene
from headscope_grammar.phrases.actions import Move
from headscope_grammar.phrases.relatives import (
    Modifier,
    doing,
    done,
    object_relative,
    subject_relative,
    to_do,
    where_relative,
    whose_relative,
    with_whom,
)
from headscope_grammar.tree import Edge, Node, Ref, comma, with_case, word
from headscope_grammar.words.lexicon import nouns, words


def decorated(scene: Scene, move: Move) -> Move:
    """Return the move with a modifier on its subject or its object, where one fits."""
    clause = move.clause
    subject, who = clause.subject, move.who
    if isinstance(subject, Ref) and subject.form == "any" and scene.chance(0.45):
        changed = modified(scene, subject, who)
        return replace(move, clause=replace(clause, subject=changed))
    for position, (relation, child) in enumerate(clause.complements):
        last = position == len(clause.complements) - 1
        if relation in ("obj", "obl", "obl:agent") and isinstance(child, Ref) and last and not child.after:
            edges = [*clause.complements]
            edges[position] = (relation, modified(scene, child, who))
            return replace(move, clause=replace(clause, complements=tuple(edges)))
    return move


def modified(scene: Scene, ref: Ref, exclude: Sequence[Entity]) -> Ref:
    """Return an open place with one modifier, or as it was if none suits."""
    entity: Entity = ref.who
    if entity.person == 1 or entity.members or (entity.owner is not None and not (entity.kin and entity.mentions)):
        return ref
    named = entity.kind == "person" and not entity.title and bool(entity.name)
    by_name = named and (entity.named or not entity.mentions) and not entity.kin
    if (by_name or entity.title or entity.kin) and scene.chance(0.5):
        return ref
    options = _options(entity)
    before = len(scene.used)
    make = scene.rng.choice(options)
    edge = make(scene, entity, exclude)
    if edge is None:
        del scene.used[before:]
        return ref
    if entity.kind == "person" and (by_name or entity.title or entity.kin):
        scene.use("non-restrictive modifier")
        relation, child = edge
        assert isinstance(child, Node)
        edge = (relation, child.with_before(comma()).with_after(comma()))
        return replace(ref, form="name" if by_name or entity.title else "noun", after=(edge,))
    return replace(ref, form="noun", after=(edge,))


def _options(entity: Entity) -> list[Modifier]:
    if entity.kind == "place":
        return [where_relative, where_relative, near_phrase]
    if entity.kind in ("person", "people"):
        return [subject_relative, subject_relative, whose_relative, object_relative, with_whom, doing]
    if entity.kind == "animal":
        return [subject_relative, object_relative, doing, object_relative]
    if entity.kind == "idea":
        lemma = entity.noun.lemma if entity.noun else ""
        if lemma in ("plan", "idea", "proposal"):
            return [object_relative, to_do, to_do]
        return [object_relative, about_phrase] if lemma in ("question", "story") else [object_relative]
    if entity.kind in ("text", "art"):
        return [object_relative, object_relative, done, about_phrase]
    return [object_relative, object_relative, done, near_phrase]


def near_phrase(scene: Scene, entity: Entity, exclude: Sequence[Entity]) -> Edge | None:
    """`the table near the window`, `the box from London`."""
    scene.use("noun with a prepositional phrase")
    if entity.kind in ("portable", "clothes", "instrument", "vehicle", "machine"):
        return ("nmod", with_case("from", word(scene.fresh(words("cities")), "PROPN")))
    preposition = scene.rng.choice(("near", "beside", "behind", "opposite"))
    spot = scene.rng.choice(("window", "door", "wall", "gate", "entrance"))
    spot = (
        scene.rng.choice(("river", "lake", "road", "square")) if entity.kind in ("place", "building", "plant") else spot
    )
    return ("nmod", with_case(preposition, word(spot, "NOUN", ("det", word("the", "DET")))))


def about_phrase(scene: Scene, entity: Entity, exclude: Sequence[Entity]) -> Edge | None:
    """`a book about horses`, `the question about the meeting`."""
    scene.use("noun with about")
    noun = scene.rng.choice(nouns(scene.rng.choice(("animal", "vehicle", "instrument", "plant"))))
    return ("nmod", with_case("about", word(noun.plural, "NOUN")))
