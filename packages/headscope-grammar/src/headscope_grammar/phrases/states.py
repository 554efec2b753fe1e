"""Clauses that say how, what or where somebody is, or what they have."""

from collections.abc import Sequence

from headscope_grammar.cast.entities import Entity
from headscope_grammar.cast.noun_phrases import indefinite
from headscope_grammar.cast.scene import Scene
from headscope_grammar.phrases.actions import Move
from headscope_grammar.phrases.clauses import Clause
from headscope_grammar.tree import Ref, with_case, word
from headscope_grammar.words.lexicon import raw, words


def having(scene: Scene, subject: Entity, exclude: Sequence[Entity] = ()) -> Move | None:
    """Having something new: `had an old red car`."""
    if subject.kind != "person":
        return None
    thing = scene.thing(scene.rng.choice(("animal", "vehicle", "instrument", "portable", "clothes")), plural=False)
    scene.use("having")
    clause = Clause(verb="have", subject=Ref(who=subject), complements=(("obj", Ref(who=thing)),))
    return Move(clause=clause, uses="rb", who=(subject, thing))


def feeling(scene: Scene, subject: Entity, exclude: Sequence[Entity] = ()) -> Move | None:
    """A copula with an adjective: `was very tired`, `was proud of her brother`, `was rather heavy`."""
    kind = "person" if subject.kind in ("person", "people") else "animal" if subject.kind == "animal" else "thing"
    if subject.kind in ("drink", "stuff", "food", "idea", "event"):
        return None
    if kind == "person" and scene.chance(0.3):
        preposition = scene.rng.choice(tuple(raw()["stances"]))
        adjective = word(scene.fresh(words("stances", preposition)), "ADJ")
        toward = scene.person(exclude=(subject, *exclude))
        if preposition == "about" or adjective.word in ("afraid", "tired", "fond"):
            toward = scene.something(
                ("animal",) if adjective.word in ("afraid", "fond") else ("event", "idea"), exclude=(subject, *exclude)
            )
        if toward is None:
            return None
        scene.use("adjective with a preposition")
        predicate = adjective.with_after(("obl", with_case(preposition, Ref(who=toward))))
        who: tuple[Entity, ...] = (subject, toward)
    else:
        scene.use("copula with an adjective")
        predicate = word(scene.fresh(words("states", kind)), "ADJ")
        who = (subject,)
    if kind == "person" and len(who) == 1 and scene.chance(0.25):
        scene.use("coordinated adjectives")
        also = word(scene.fresh(words("states", kind)), "ADJ", ("cc", word("and", "CCONJ")))
        predicate = predicate.with_after(("conj", also))
    elif scene.chance(0.4):
        degree = scene.rng.choice(("very", "very", "rather", "quite", "extremely"))
        predicate = predicate.with_before(("advmod", word(degree, "ADV")))
    return Move(clause=Clause(verb="be", subject=Ref(who=subject), predicate=predicate), uses="s", who=who)


def being(scene: Scene, subject: Entity, exclude: Sequence[Entity] = ()) -> Move | None:
    """A copula with a noun: `was a good teacher`; tells what somebody is who was only named."""
    if subject.kind != "person" or subject.members or subject.person == 1:
        return None
    if subject.described or subject.noun is None or subject.owner is not None or subject.title:
        return None
    if subject.mentions and not subject.named:
        return None
    scene.use("copula with a noun")
    scene.told.append(subject)
    clause = Clause(verb="be", subject=Ref(who=subject, form="brief"), predicate=indefinite(subject))
    return Move(clause=clause, uses="sb", who=(subject,))


def located(scene: Scene, subject: Entity, exclude: Sequence[Entity] = ()) -> Move | None:
    """A copula with a place: `was in the kitchen`."""
    if subject.kind in ("place", "building", "plant", "event", "idea"):
        return None
    scene.use("copula with a place")
    _, where = scene.where()
    return Move(clause=Clause(verb="be", subject=Ref(who=subject), predicate=where), uses="s", who=(subject,))
