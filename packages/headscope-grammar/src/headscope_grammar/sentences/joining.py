"""Sentences of equals: coordinated verbs, clauses, objects; side remarks; lists."""

from dataclasses import replace

from headscope_grammar.cast.noun_phrases import joined
from headscope_grammar.cast.scene import THINGS, Scene
from headscope_grammar.phrases.adjuncts import adorned, dated
from headscope_grammar.phrases.basics import action, basic
from headscope_grammar.phrases.clauses import Clause, Form, build
from headscope_grammar.phrases.common import Tree
from headscope_grammar.phrases.modifiers import decorated
from headscope_grammar.phrases.verb_forms import deniable, narrative, simple
from headscope_grammar.tree import Edge, Node, Ref, comma, ended, extended, preceded, word
from headscope_grammar.words.lexicon import nouns, words


def two_verbs(scene: Scene) -> Tree:
    """`Anna opened the box and took out the key`; with three verbs, or `either ... or`."""
    subject = scene.person()
    assert subject is not None
    first = action(scene, subject)
    second = action(scene, subject, first.who[1:])
    form = simple(scene)
    bare = build(replace(second.clause, subject=None, agreement=subject.agreement), form)
    root = build(dated(scene, first.clause), form)
    if scene.chance(0.25):
        scene.use("three coordinated verbs")
        third = action(scene, subject, (*first.who[1:], *second.who[1:]))
        last = build(replace(third.clause, subject=None, agreement=subject.agreement), form)
        middle = preceded(bare, comma())
        last = preceded(last, comma(), ("cc", word("and", "CCONJ")))
        return ended(extended(root, ("conj", middle), ("conj", last)))
    scene.use("coordinated verbs")
    conjunction = scene.rng.choice(("and", "and", "but")) if deniable(second) else "and"
    if conjunction == "but":
        bare = build(replace(second.clause, subject=None, agreement=subject.agreement), replace(form, negated=True))
    then: tuple[Edge, ...] = (("advmod", word("then", "ADV")),) if conjunction == "and" and scene.chance(0.4) else ()
    return ended(extended(root, ("conj", preceded(bare, ("cc", word(conjunction, "CCONJ")), *then))))


def two_clauses(scene: Scene) -> Tree:
    """`Anna opened the box, but Tom did not see the key`, `..., so ...`."""
    first = adorned(scene, decorated(scene, basic(scene)), most=1)
    others = scene.person(exclude=first.who)
    second = basic(scene, others, first.who) if others is not None else basic(scene)
    conjunction = scene.rng.choice(("and", "but", "and", "so"))
    scene.use(f"coordinated clauses: {conjunction}")
    form = simple(scene) if conjunction == "so" else narrative(scene, second)
    if conjunction == "but" and deniable(second) and "b" not in second.uses:
        form = replace(simple(scene), negated=True)
    mark: tuple[Edge, ...] = (comma(), ("cc", word(conjunction, "CCONJ")))
    clause = build(second.clause, form)
    return ended(extended(build(first.clause, narrative(scene, first)), ("conj", preceded(clause, *mark))))


def semicolon(scene: Scene) -> Tree:
    """`Anna liked the song; Tom preferred silence`: two clauses side by side."""
    first = basic(scene)
    others = scene.person(exclude=first.who)
    second = basic(scene, others, first.who) if others is not None else basic(scene)
    scene.use("side by side: semicolon")
    clause = preceded(build(second.clause, simple(scene)), ("punct", word(";", "PUNCT", glued=True)))
    return ended(extended(build(first.clause, simple(scene)), ("parataxis", clause)))


def several_things(scene: Scene) -> Tree:
    """`Anna bought a lamp, two chairs and an old mirror`."""
    subject = scene.person()
    assert subject is not None
    verb, kinds = scene.rng.choice(
        (
            ("buy", ("portable", "clothes", "furniture")),
            ("bring", ("food", "portable", "drink")),
            ("draw", ("animal", "plant", "building")),
            ("find", ("text", "portable", "clothes")),
            ("sell", ("furniture", "vehicle", "instrument")),
            ("photograph", ("animal", "building", "plant")),
        )
    )
    count = scene.rng.choice((2, 2, 3))
    things = [scene.thing(kind) for kind in scene.rng.sample(kinds, count)]
    way = scene.rng.choice(("and", "and", "as well as", "or"))
    if count == 3 and way == "as well as":
        way = "and"
    nodes = [scene.speaker.resolve(Ref(who=thing, form="noun"), "obj") for thing in things]
    noun = joined(nodes, conjunction=way)
    if count == 2 and way == "or":
        scene.use("either or")
        noun = noun.with_before(("cc:preconj", word("either", "CCONJ")))
        form = Form(tense=scene.tense, modal="would" if scene.tense == "past" else "will")
    else:
        scene.use("as well as" if way == "as well as" else f"{count} coordinated objects")
        form = simple(scene)
    clause = Clause(verb=verb, subject=Ref(who=subject, form="any"), complements=(("obj", noun),))
    return ended(build(dated(scene, clause), form))


def remark(scene: Scene) -> Tree:
    """A side remark between commas: `The plan, I think, was too difficult`; `Anna, it seems, ...`."""
    move = basic(scene)
    speaking, verb = scene.rng.choice((("I", "think"), ("it", "seems"), ("I", "believe"), ("they", "say")))
    subject: Edge = ("expl" if speaking == "it" else "nsubj", word(speaking, "PRON"))
    aside = word(verb, "VERB", comma(), subject).with_after(comma())
    scene.use("side remark")
    node = build(replace(move.clause, subject=Ref(who=move.who[0], form="noun")), simple(scene))
    if isinstance(node, Ref) or move.who[0].person == 1:
        return None
    place = next((at for at, (relation, _) in enumerate(node.before) if relation in ("nsubj", "nsubj:pass")), None)
    if place is None:
        return None
    before = (*node.before[: place + 1], ("parataxis", aside), *node.before[place + 1 :])
    return ended(replace(node, before=before))


def quantified(scene: Scene) -> Tree:
    """`All the windows were open`, `Most of the letters ...`, `One of the dogs ...`, `Both dogs ...`."""
    kind = scene.rng.choice(("text", "animal", "portable", "clothes", "furniture", "vehicle"))
    noun = scene.rng.choice(nouns(kind))
    way = scene.rng.choice(("all", "of", "one", "many"))
    many = word(noun.plural, "NOUN")
    agreement = "p"
    if way == "all":
        scene.use("predeterminer")
        phrase = many.with_before(("det:predet", word("all", "DET")), ("det", word("the", "DET")))
    elif way in ("of", "one"):
        scene.use("partitive")
        amount = scene.rng.choice(("most", "some", "many", "two", "three")) if way == "of" else "one"
        tag = "NUM" if amount in ("one", "two", "three") else "ADJ" if amount in ("most", "many") else "DET"
        whole = many.with_before(("case", word("of", "ADP")), ("det", word("the", "DET")))
        phrase = word(amount, tag).with_after(("nmod", whole))
        agreement = "n" if way == "one" else "p"
    else:
        scene.use("quantifier")
        phrase = many.with_before(("amod", word("many", "ADJ")))
    state = scene.rng.choice(words("states", "animal" if kind == "animal" else "thing"))
    where = scene.where(indoors=kind not in ("animal", "vehicle"))
    predicate = word(state, "ADJ")
    phrase = _marked(scene, phrase)
    phrase = phrase.with_after(("nmod", where[1]))
    clause = Clause(verb="be", subject=phrase, predicate=predicate, agreement=agreement)
    return ended(build(clause, simple(scene)))


def _marked(scene: Scene, phrase: Node) -> Node:
    """Return a phrase as the one mention of a new entity."""
    entity = scene.unnamed(THINGS[0])
    return replace(phrase, entity=entity.id)


def contact(scene: Scene) -> Tree:
    """A line of a card: `Anna Miller, phone: 555 0142, room: 12`."""
    known = [one for one in scene.cast if one.named and one.surname]
    if not known or not scene.final:
        return None
    who = scene.rng.choice(known)
    scene.use("list")
    items: list[Edge] = []
    for label in scene.rng.sample(("Phone", "Room", "Office", "Extension"), 2):
        number = str(scene.rng.randrange(100, 999))
        value = word(number, "NUM", ("punct", word(":", "PUNCT", glued=True)))
        items.append(("list", word(label, "NOUN", comma()).with_after(("appos", value))))
    return Ref(who=who, form="name", tail=tuple(items))
