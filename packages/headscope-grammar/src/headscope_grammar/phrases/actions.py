"""Clauses with a verb: what it takes before and behind it, active and passive."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headscope_grammar.cast.entities import Entity
from headscope_grammar.cast.scene import Scene
from headscope_grammar.phrases.clauses import Clause
from headscope_grammar.tree import Edge, Ref, with_case, word
from headscope_grammar.words.lexicon import Frame, raw, words


@dataclass(frozen=True, kw_only=True)
class Move:
    """A clause to be, with what it may be used for.

    Attributes:
        clause: what is said.
        uses: the frame's letters; `s` for a state.
        who: the entities that take part, the subject first.
    """

    clause: Clause
    uses: str
    who: tuple[Entity, ...]

    def plus(self, *edges: Edge) -> "Move":
        """Return the move with more behind its verb."""
        return replace(self, clause=self.clause.plus(*edges))


def fill(scene: Scene, frame: Frame, subject: Entity, exclude: Sequence[Entity]) -> tuple[Entity | None, bool]:
    """Return a frame's object, and whether the frame can be filled at all."""
    if not frame.object:
        return None, True
    family = (subject.owner,) if subject.owner is not None else ()
    thing = scene.something(frame.object, exclude=(subject, *exclude, *family))
    if thing is not None and "c" in frame.uses:
        thing.gone = True
    return thing, thing is not None


def plain(scene: Scene, subject: Entity, exclude: Sequence[Entity] = (), *, uses: str = "") -> Move | None:
    """A verb with its object, if it takes one: `carried the box`, `slept`, `waited for Tom`."""
    kind = "person" if subject.kind == "person" else subject.kind
    table = scene.rng.choices(("frames", "complements"), (0.8, 0.2))[0]
    frame = scene.frame((table,), subject=kind, uses=uses) or scene.frame(("frames",), subject=kind, uses=uses)
    if frame is None:
        return None
    thing, filled = fill(scene, frame, subject, exclude)
    if not filled:
        return None
    scene.verbs.add(frame.verb)
    complements: tuple[Edge, ...] = ()
    if thing is not None and frame.preposition:
        scene.use("prepositional verb")
        complements = (("obl", with_case(frame.preposition, Ref(who=thing))),)
    elif thing is not None:
        scene.use("transitive")
        complements = (("obj", Ref(who=thing)),)
    else:
        scene.use("intransitive")
        if frame.verb in ("walk", "run", "drive", "travel", "hurry", "return"):
            complements = (scene.whither(),)
        elif frame.verb in ("stand", "lie"):
            complements = (scene.where(indoors=True),)
        elif frame.verb in ("arrive", "live", "stay", "sit"):
            complements = (scene.where(),)
    clause = Clause(verb=frame.verb, subject=Ref(who=subject), complements=complements)
    return Move(clause=clause, uses=frame.uses, who=(subject, *((thing,) if thing else ())))


def particle(scene: Scene, subject: Entity, exclude: Sequence[Entity] = ()) -> Move | None:
    """A phrasal verb, its particle before or after the object: `picked up the box`, `picked it up`."""
    frame = scene.frame(("particles",), subject="person")
    if frame is None or subject.kind != "person":
        return None
    thing, filled = fill(scene, frame, subject, exclude)
    if not filled:
        return None
    scene.verbs.add(frame.verb)
    part: Edge = ("compound:prt", word(frame.particle, "ADV" if frame.particle in _ADVERBS else "ADP"))
    complements: tuple[Edge, ...] = (part,)
    if thing is not None:
        # a pronoun cannot stand behind the particle; what comes first is decided before it is named
        shifted = thing.kind == "person" or scene.chance(0.5)
        scene.use("particle after object" if shifted else "particle before object")
        obj: Edge = ("obj", Ref(who=thing) if shifted else Ref(who=thing, form="noun"))
        complements = (obj, part) if shifted else (part, obj)
    else:
        scene.use("particle without object")
    clause = Clause(verb=frame.verb, subject=Ref(who=subject), complements=complements)
    return Move(clause=clause, uses=frame.uses, who=(subject, *((thing,) if thing else ())))


def transfer(scene: Scene, subject: Entity, exclude: Sequence[Entity] = ()) -> Move | None:
    """Giving: with two objects, or with `to`: `gave Tom the key`, `gave the key to Tom`."""
    frame = scene.frame(("transfers",), subject="person")
    receiver = scene.person(exclude=(subject, *exclude))
    if frame is None or receiver is None or subject.kind != "person":
        return None
    thing, filled = fill(scene, frame, subject, (receiver, *exclude))
    if not filled or thing is None or thing.owner is receiver:
        return None
    scene.verbs.add(frame.verb)
    complements: tuple[Edge, ...]
    if scene.chance(0.6) or not frame.preposition:
        scene.use("ditransitive")
        complements = (("iobj", Ref(who=receiver)), ("obj", Ref(who=thing, form="noun")))
    else:
        scene.use("dative with a preposition")
        preposition = frame.preposition
        complements = (("obj", Ref(who=thing)), ("obl", with_case(preposition, Ref(who=receiver))))
    clause = Clause(verb=frame.verb, subject=Ref(who=subject), complements=complements)
    return Move(clause=clause, uses="d", who=(subject, receiver, thing))


_ADVERBS = ("back", "away")  # particles that are adverbs; the others are prepositions by their form
_TOPS = ("table", "chair", "desk", "bench", "shelf")


def placing(scene: Scene, subject: Entity, exclude: Sequence[Entity] = ()) -> Move | None:
    """Putting something somewhere: `put the key in the drawer`."""
    rules = raw()["placing"]
    into = scene.chance(0.5)
    thing = scene.something(tuple(rules["object"].split()), exclude=(subject, *exclude))
    target = scene.something(("container",) if into else _TOPS, exclude=(subject, *exclude))
    if thing is None or target is None or target.plural or subject.kind != "person":
        return None
    scene.use("placing")
    scene.placed = True
    verb = scene.rng.choice(words("placing", "verbs"))
    where = with_case("in" if into else "on", Ref(who=target, form="noun"))
    clause = Clause(verb=verb, subject=Ref(who=subject), complements=(("obj", Ref(who=thing)), ("obl", where)))
    return Move(clause=clause, uses="d", who=(subject, thing, target))


def passive(scene: Scene, subject: Entity, exclude: Sequence[Entity] = ()) -> Move | None:
    """A passive, half of them with their agent: `was repaired`, `was repaired by Tom`."""
    table = scene.rng.choices(("frames", "particles"), (0.85, 0.15))[0]
    frame = scene.frame((table,), subject="person", uses="p")
    if frame is None:
        return None
    kinds = tuple(kind for kind in frame.object if kind != "people")
    own = subject.kind in kinds or (subject.noun is not None and subject.noun.lemma in kinds)
    thing = subject if own else scene.something(kinds, exclude=exclude)
    if thing is None or (thing.person == 1 and table == "particles"):
        return None
    if "c" in frame.uses:
        thing.gone = True
    needed = not thing.mentions  # "a letter was read" leaves open too much
    agent = scene.person(exclude=(thing, *exclude)) if needed or scene.chance(0.4) else None
    if (needed and agent is None) or (agent is not None and agent.person == 1):
        return None
    scene.use("passive with an agent" if agent else "passive without an agent")
    scene.verbs.add(frame.verb)
    complements: tuple[Edge, ...] = ()
    if frame.particle:
        complements = (("compound:prt", word(frame.particle, "ADV" if frame.particle in _ADVERBS else "ADP")),)
    if agent is not None:
        complements += (("obl:agent", with_case("by", Ref(who=agent))),)
    clause = Clause(verb=frame.verb, subject=Ref(who=thing), complements=complements, passive=True)
    return Move(clause=clause, uses="x" + ("d" if "d" in frame.uses else ""), who=(thing, *((agent,) if agent else ())))
