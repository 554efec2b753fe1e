"""What says when, where, how and in whose opinion; before the clause, inside it or behind it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from headscope_grammar.cast.scene import Scene
from headscope_grammar.phrases.actions import Move
from headscope_grammar.phrases.clauses import Clause
from headscope_grammar.phrases.times import case, manner, set_off, time
from headscope_grammar.tree import Edge, Ref, with_case, word
from headscope_grammar.words.lexicon import words

_HINDERED = ("wait", "stay", "hurry", "return", "stop", "cancel", "drive", "arrive", "leave", "disappear", "sit", "run")


_LASTING = ("be", "seem", "appear", "look", "feel", "know", "like", "trust")


def _opinion(scene: Scene) -> Edge:
    scene.use("sentence adverb")
    listed = words("opinion")[: 6 if scene.tense == "past" else 4]  # no `finally` among habits
    return set_off(("advmod", word(scene.fresh(listed), "ADV")))


def dated(scene: Scene, clause: Clause, *, chance: float = 0.35) -> Clause:
    """Return a clause that now and then begins with a time or an opinion."""
    if clause.fronted or clause.verb in _LASTING or not scene.chance(chance):
        return clause
    if scene.speaker.sentence and (scene.timed or scene.chance(0.4)):
        return clause.led(_opinion(scene))
    if scene.timed:
        return clause
    scene.use("fronted oblique")
    return clause.led(set_off(time(scene)))


@dataclass(frozen=True, kw_only=True)
class _Room:
    """Where in a clause there is room: before the subject, before the verb, behind the verb."""

    front: bool
    middle: bool
    behind: bool


def adorned(scene: Scene, move: Move, *, front: bool = True, most: int = 2, finite: bool = True) -> Move:
    """Return a move with some adjuncts, as many as its verb bears: when, where, how, how often, why.

    Args:
        scene: the document; it remembers whether the sentence has a time or a place already.
        move: the clause.
        front: whether something may stand before the subject.
        most: how many at most.
        finite: whether adverbs such as `often` may stand before the verb.
    """
    # nothing may stand behind a noun with a relative clause: it would be read as part of that
    heavy = any(isinstance(child, Ref) and child.after for _, child in move.clause.complements)
    for _ in range(scene.rng.choices(range(most + 1), (0.25, 0.45, 0.3)[: most + 1])[0]):
        clause = move.clause
        room = _Room(front=front and not clause.fronted, middle=finite and not clause.adverbs, behind=not heavy)
        made = scene.rng.choice(_ADJUNCTS)(scene, move, room)
        move = replace(move, clause=made or clause)
    return move


def _somewhere(
    scene: Scene, clause: Clause, room: _Room, make: Callable[[Scene], Edge], names: tuple[str, str]
) -> Clause | None:
    """Return a clause with an oblique before or behind it, if there is room."""
    if room.front and (not room.behind or scene.chance(0.4)):
        scene.use(names[0])
        return clause.led(set_off(make(scene)))
    if not room.behind:
        return None
    scene.use(names[1])
    return clause.plus(make(scene))


def _when(scene: Scene, move: Move, room: _Room) -> Clause | None:
    if scene.timed or set("sr") & set(move.uses):
        return None
    return _somewhere(scene, move.clause, room, time, ("fronted oblique", "time adjunct"))


def _where(scene: Scene, move: Move, room: _Room) -> Clause | None:
    if scene.placed:
        return None
    if "l" in move.uses:
        return _somewhere(scene, move.clause, room, Scene.where, ("fronted place", "place adjunct"))
    if "g" in move.uses and room.behind:
        scene.use("goal adjunct")
        return move.clause.plus(scene.whither())
    return None


def _how(scene: Scene, move: Move, room: _Room) -> Clause | None:
    if "m" not in move.uses:
        return None
    if room.middle and (not room.behind or scene.chance(0.5)):
        scene.use("manner adverb before the verb")
        return replace(move.clause, adverbs=(manner(scene),))
    if not room.behind:
        return None
    scene.use("manner adverb behind")
    return move.clause.plus(manner(scene))


def _how_often(scene: Scene, move: Move, room: _Room) -> Clause | None:
    if scene.timed or not room.middle or set("xsbr") & set(move.uses):
        return None
    scene.timed = True
    scene.use("frequency adverb")
    adverb = word(scene.rng.choice(words("frequency")), "ADV")
    return replace(move.clause, adverbs=(("advmod", adverb),))


def _in_whose_view(scene: Scene, move: Move, room: _Room) -> Clause | None:
    if not room.front or "s" in move.uses or not scene.speaker.sentence:
        return None
    return move.clause.led(_opinion(scene))


def _why(scene: Scene, move: Move, room: _Room) -> Clause | None:
    if scene.caused or not room.behind or move.clause.verb not in _HINDERED:
        return None
    scene.caused = True
    scene.use("because of")
    cause = word(scene.rng.choice(words("weather")), "NOUN", ("det", word("the", "DET")))
    return move.clause.plus(("obl", case("because of", cause)))


def _also(scene: Scene, move: Move, room: _Room) -> Clause | None:
    if not room.middle or not move.who[0].mentions:
        return None
    scene.use("focus adverb")
    adverb = "still" if set("sr") & set(move.uses) and scene.chance(0.5) else "also"
    return replace(move.clause, adverbs=(("advmod", word(adverb, "ADV")),))


def _with_whom(scene: Scene, move: Move, room: _Room) -> Clause | None:
    who = move.who[0]
    if scene.joined or not room.behind or len(move.who) > 1 or "d" not in move.uses or not set("lg") & set(move.uses):
        return None
    friend = scene.person(exclude=move.who)
    if friend is None or who.kind != "person" or who.members:
        return None
    scene.joined = True
    scene.use("together with")
    return move.clause.plus(("obl", with_case("with", Ref(who=friend))))


_ADJUNCTS: tuple[Callable[[Scene, Move, _Room], Clause | None], ...] = (
    _when,
    _when,
    _where,
    _where,
    _how,
    _how_often,
    _in_whose_view,
    _why,
    _also,
    _with_whom,
)
