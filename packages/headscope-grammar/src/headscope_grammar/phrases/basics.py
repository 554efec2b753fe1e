"""What every clause comes from: a move of somebody, drawn from the kinds of simple clauses."""

from collections.abc import Callable, Sequence

from headscope_grammar.cast.entities import Entity
from headscope_grammar.cast.scene import Scene
from headscope_grammar.phrases.actions import Move, particle, passive, placing, plain, transfer
from headscope_grammar.phrases.states import being, feeling, having, located

Basic = Callable[[Scene, Entity, Sequence[Entity]], Move | None]


BASICS: tuple[tuple[Basic, float], ...] = (
    (lambda scene, subject, exclude: plain(scene, subject, exclude), 3.2),
    (particle, 0.8),
    (transfer, 1.1),
    (placing, 0.6),
    (having, 0.35),
    (feeling, 0.9),
    (being, 0.6),
    (located, 0.4),
    (passive, 1.0),
)


def basic(scene: Scene, subject: Entity | None = None, exclude: Sequence[Entity] = ()) -> Move:
    """Return some simple clause about a subject (somebody of the cast when it is not given)."""
    while True:
        who = subject or scene.person(exclude=exclude) or scene.cast[0]
        if subject is None and scene.chance(0.2):
            known = [one for one in scene.known() if one not in exclude]
            weights = [4 if one.kind in ("animal", "people") else 1 for one in known]
            who = scene.rng.choices(known, weights)[0] if known else who
        make = scene.rng.choices([make for make, _ in BASICS], [weight for _, weight in BASICS])[0]
        before = len(scene.used)
        move = make(scene, who, exclude)
        if move is not None:
            return move
        del scene.used[before:]


def action(scene: Scene, subject: Entity, exclude: Sequence[Entity] = ()) -> Move:
    """Return something that the subject does, fit for `try to ...`, `start ...ing` and commands."""
    while True:
        before = len(scene.used)
        make = scene.rng.choices(("plain", "particle", "transfer", "placing"), (4, 1, 1.2, 0.6))[0]
        if make == "plain":
            move = plain(scene, subject, exclude, uses="d")
        else:
            table = {"particle": particle, "transfer": transfer, "placing": placing}
            move = table[make](scene, subject, exclude)
        if move is not None and "d" in move.uses:
            return move
        del scene.used[before:]
