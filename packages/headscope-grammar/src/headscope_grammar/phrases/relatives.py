"""Relative clauses of all kinds, and the participles and infinitives that stand for them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from headscope_grammar.cast.entities import Entity
from headscope_grammar.cast.scene import Scene
from headscope_grammar.phrases.actions import Move, plain
from headscope_grammar.phrases.basics import action
from headscope_grammar.phrases.clauses import Clause, Form, build
from headscope_grammar.phrases.states import feeling
from headscope_grammar.tree import Edge, Node, Ref, with_case, word
from headscope_grammar.words.lexicon import forms, frames, nouns, words

GAP = "gap:"


Modifier = Callable[[Scene, Entity, Sequence[Entity]], Edge | None]


def _form(scene: Scene) -> Form:
    if scene.tense == "present":
        return Form(tense="present", progressive=False)
    return Form(tense="past", perfect=scene.chance(0.3))


def subject_relative(scene: Scene, entity: Entity, exclude: Sequence[Entity]) -> Edge | None:
    """`a teacher who lived in the village`, `a dog that followed Tom`."""
    pronoun = "who" if entity.kind in ("person", "people") else "that"
    move = plain(scene, entity, (entity, *exclude)) if scene.chance(0.75) else feeling(scene, entity, exclude)
    if move is None:
        return None
    scene.use("relative: subject")
    form = _form(scene) if "s" not in move.uses and "r" not in move.uses else Form(tense=scene.tense)
    return ("acl:relcl", _gapped(move, pronoun, form))


def _gapped(move: Move, pronoun: str, form: Form) -> Node:
    entity = move.who[0]
    clause = replace(move.clause, subject=Ref(who=entity, form=GAP + pronoun), agreement=entity.agreement)
    node = build(clause, form)
    assert isinstance(node, Node)
    return node


def object_relative(scene: Scene, entity: Entity, exclude: Sequence[Entity]) -> Edge | None:
    """`the book that Anna wrote`, `the man whom Tom met`, `the car Tom repaired`."""
    doer = scene.person(exclude=(entity, *exclude)) or scene.person(exclude=(entity,))
    frame = _taking(scene, entity)
    if doer is None or frame is None or doer is entity.owner:
        return None
    human = entity.kind in ("person", "people")
    named = human and entity.name
    pronoun = scene.rng.choice(("whom",) if named else ("whom", "that", "") if human else ("that", "which", "", ""))
    scene.use("relative: object" if pronoun else "relative: object without pronoun")
    fronted: tuple[Edge, ...] = (("obj", word(pronoun, "PRON")),) if pronoun else ()
    clause = Clause(verb=frame, subject=Ref(who=doer), fronted=fronted)
    form = Form(tense=scene.tense, perfect=scene.tense == "past" and scene.chance(0.5))
    node = build(clause, form)
    assert isinstance(node, Node)
    return ("acl:relcl", node)


def _taking(scene: Scene, entity: Entity) -> str | None:
    """Return a verb that a person does to such a thing, without a trace left on it."""
    verbs = [
        frame.verb
        for frame in frames("frames")
        if (entity.kind in frame.object or (entity.noun is not None and entity.noun.lemma in frame.object))
        and "person" in frame.subject
        and "c" not in frame.uses
        and "d" in frame.uses
        and frame.verb not in scene.verbs
    ]
    if not verbs:
        return None
    verb = scene.rng.choice(verbs)
    scene.verbs.add(verb)
    return verb


def whose_relative(scene: Scene, entity: Entity, exclude: Sequence[Entity]) -> Edge | None:
    """`a pilot whose brother lived in Paris`."""
    if entity.plural:
        return None
    relation = scene.rng.choice(nouns("f") + nouns("m"))
    scene.use("relative: whose")
    possessor = word("whose", "PRON")
    city = word(scene.fresh(words("cities")), "PROPN")
    where = with_case("in", city)
    clause = Clause(
        verb=scene.rng.choice(("live", "work")),
        subject=word(relation.lemma, "NOUN", ("nmod:poss", possessor)),
        complements=(("obl", where),),
    )
    node = build(clause, Form(tense=scene.tense))
    assert isinstance(node, Node)
    return ("acl:relcl", node)


def with_whom(scene: Scene, entity: Entity, exclude: Sequence[Entity]) -> Edge | None:
    """`the engineer with whom Anna worked`."""
    doer = scene.person(exclude=(entity, *exclude))
    if doer is None:
        return None
    scene.use("relative: preposition and pronoun")
    verb, preposition = scene.rng.choice((("work", "with"), ("talk", "to"), ("wait", "for"), ("travel", "with")))
    pronoun = with_case(preposition, word("whom", "PRON"))
    clause = Clause(verb=verb, subject=Ref(who=doer), fronted=(("obl", pronoun),))
    node = build(clause, Form(tense=scene.tense, perfect=scene.chance(0.4)))
    assert isinstance(node, Node)
    return ("acl:relcl", node)


def where_relative(scene: Scene, entity: Entity, exclude: Sequence[Entity]) -> Edge | None:
    """`the village where Tom lived`."""
    doer = scene.person(exclude=exclude)
    if doer is None:
        return None
    scene.use("relative: where")
    clause = Clause(
        verb=scene.rng.choice(("work", "wait", "live", "sit", "stay")),
        subject=Ref(who=doer),
        fronted=(("advmod", word("where", "ADV")),),
    )
    node = build(clause, Form(tense=scene.tense, progressive=clause.verb in ("wait", "sit", "stay")))
    assert isinstance(node, Node)
    return ("acl:relcl", node)


def doing(scene: Scene, entity: Entity, exclude: Sequence[Entity]) -> Edge | None:
    """`the man waiting for Anna`."""
    move = plain(scene, entity, (entity, *exclude), uses="d")
    if move is None:
        return None
    if not move.clause.complements:
        if scene.placed or "l" not in move.uses:
            return None
        move = move.plus(scene.where())
    scene.use("participle: present")
    node = build(replace(move.clause, subject=None), Form(tense="ing"))
    assert isinstance(node, Node)
    return ("acl", node)


def done(scene: Scene, entity: Entity, exclude: Sequence[Entity]) -> Edge | None:
    """`a letter written by Tom`."""
    doer = scene.person(exclude=(entity, *exclude))
    verb = _taking(scene, entity)
    if doer is None or verb is None or doer.person == 1 or doer is entity.owner:
        return None
    scene.use("participle: past")
    agent: Edge = ("obl:agent", with_case("by", Ref(who=doer)))
    return ("acl", Node(word=forms(verb)["participle"], tag="VERB", after=(agent,)))


def to_do(scene: Scene, entity: Entity, exclude: Sequence[Entity]) -> Edge | None:
    """`a plan to sell the house`."""
    doer = next((one for one in exclude if one.kind == "person"), None)
    if doer is None:
        return None
    move = action(scene, doer, (entity, *exclude))
    scene.use("infinitive: of a noun")
    node = build(replace(move.clause, subject=None), Form(tense="to"))
    assert isinstance(node, Node)
    return ("acl", node)
