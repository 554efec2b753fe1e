"""Sentences of one clause: statements, couples, reflexives, names, measures."""

from dataclasses import replace

from headscope_grammar.cast.scene import Scene
from headscope_grammar.phrases.actions import plain
from headscope_grammar.phrases.adjuncts import adorned, dated
from headscope_grammar.phrases.basics import basic
from headscope_grammar.phrases.clauses import Clause, build
from headscope_grammar.phrases.common import Tree
from headscope_grammar.phrases.modifiers import decorated
from headscope_grammar.phrases.times import set_off
from headscope_grammar.phrases.verb_forms import narrative, simple
from headscope_grammar.tree import Edge, Ref, ended, extended, with_case, word
from headscope_grammar.words.lexicon import words


def plain_sentence(scene: Scene) -> Tree:
    """One clause with its adjuncts and perhaps a modified noun."""
    move = basic(scene)
    if scene.chance(0.75):
        move = decorated(scene, move)
    move = adorned(scene, move)
    return ended(build(move.clause, narrative(scene, move)))


def short_sentence(scene: Scene) -> Tree:
    """One clause and nothing more."""
    move = basic(scene)
    return ended(build(move.clause, narrative(scene, move)))


def together(scene: Scene) -> Tree:
    """Two people as one subject: `Anna and Tom`, `they`, `the two women`."""
    first = scene.person()
    second = scene.person(exclude=(first,)) if first else None
    if first is None or second is None:
        return None
    pair = scene.couple(first, second)
    scene.use("coordinated subjects")
    move = adorned(scene, basic(scene, pair, (first, second)))
    return ended(build(move.clause, narrative(scene, move)))


def reflexive(scene: Scene) -> Tree:
    """`Anna looked at herself in the mirror`, `Tom taught himself the song`."""
    subject = scene.person()
    assert subject is not None
    scene.use("reflexive")
    own: Edge = ("obj", Ref(who=subject, form="reflexive"))
    verb = scene.rng.choice(("blame", "hide", "introduce", "look"))
    more: tuple[Edge, ...] = (own,)
    if verb == "look":
        glass = word("mirror", "NOUN", ("det", word("the", "DET")))
        more = (("obl", with_case("at", Ref(who=subject, form="reflexive"))), ("obl", with_case("in", glass)))
    elif verb == "introduce":
        other = scene.person(exclude=(subject,))
        if other is None:
            return None
        more = (own, ("obl", with_case("to", Ref(who=other))))
    elif verb == "hide":
        more = (own, scene.where())
    else:
        more = (own, ("obl", with_case("for", word("mistake", "NOUN", ("det", word("the", "DET"))))))
    clause = Clause(verb=verb, subject=Ref(who=subject), complements=more)
    return ended(build(dated(scene, clause), simple(scene)))


def each_other(scene: Scene) -> Tree:
    """`Anna and Tom knew each other`."""
    first = scene.person()
    second = scene.person(exclude=(first,)) if first else None
    if first is None or second is None:
        return None
    scene.use("each other")
    verb = scene.rng.choice(("know", "help", "trust", "visit", "greet", "like"))
    mutual = word("each", "DET").with_after(("fixed", word("other", "ADJ")))
    clause = Clause(verb=verb, subject=Ref(who=scene.couple(first, second)), complements=(("obj", mutual),))
    extra = extended(build(clause, simple(scene)))
    return ended(extra)


def naming(scene: Scene) -> Tree:
    """`The dog was called Rex.`; afterwards it may be."""
    nameless = [
        one for one in (*scene.cast, *scene.things) if one.mentions and one.name and not one.named and not one.title
    ]
    if not nameless:
        return None
    one = scene.rng.choice(nameless)
    scene.use("naming")
    # the name becomes known behind its sentence, so the subject is still the dog
    clause = Clause(
        verb="call", subject=Ref(who=one, form="any"), complements=(("xcomp", word(one.name, "PROPN")),), passive=True
    )
    scene.later.append(one)
    return ended(build(dated(scene, clause), simple(scene)))


def according(scene: Scene) -> Tree:
    """`According to Tom, the house was very old.`"""
    source = scene.person(named=True)
    if source is None:
        return None
    scene.use("according to")
    move = basic(scene, None, (source,))
    by: Edge = set_off(("obl", with_case("according to", Ref(who=source, form="noun"))))
    return ended(build(move.clause.led(by), simple(scene)))


def instead(scene: Scene) -> Tree:
    """`Anna took the bicycle instead of the car.`"""
    subject = scene.person()
    assert subject is not None
    kind = scene.rng.choice(("vehicle", "clothes", "instrument", "portable"))
    first = scene.something((kind,), exclude=(subject,))
    if first is None:
        return None
    second = scene.thing(kind, plural=False)
    scene.use("instead of")
    verb = scene.rng.choice(("take", "buy", "use", "sell"))
    clause = Clause(
        verb=verb,
        subject=Ref(who=subject),
        complements=(("obj", Ref(who=first)), ("obl", with_case("instead of", Ref(who=second, form="noun")))),
    )
    return ended(build(dated(scene, clause), simple(scene)))


def cup_of(scene: Scene) -> Tree:
    """`Anna drank a cup of tea.`"""
    subject = scene.person()
    assert subject is not None
    vessel, content = scene.rng.choice(
        (("cup", "tea"), ("cup", "coffee"), ("bowl", "soup"), ("glass", "milk"), ("bottle", "juice"), ("piece", "cake"))
    )
    scene.use("measure: cup of")
    node = word(vessel, "NOUN", ("det", word("a", "DET"))).with_after(("nmod", with_case("of", word(content, "NOUN"))))
    node = replace(node, entity=scene.unnamed("drink").id)
    verb = scene.rng.choice(("order", "want", "finish", "buy", "share"))
    clause = Clause(verb=verb, subject=Ref(who=subject), complements=(("obj", node),))
    if scene.chance(0.5):
        clause = clause.plus(scene.where())
    return ended(build(dated(scene, clause), simple(scene)))


def passive_with_adverb(scene: Scene) -> Tree:
    """`The letter was carefully read by Anna in the library.`"""
    move = plain(scene, scene.cast[0], uses="p")
    if move is None or not move.clause.complements or move.clause.complements[0][0] != "obj":
        return None
    thing, doer = move.who[1], scene.cast[0]
    if thing.person == 1 or doer.person == 1:
        return None
    scene.use("passive with an adverb")
    adverb: Edge = ("advmod", word(scene.fresh(words("manner")), "ADV"))
    clause = Clause(
        verb=move.clause.verb,
        subject=Ref(who=thing),
        adverbs=(adverb,),
        complements=(("obl:agent", with_case("by", Ref(who=doer))),),
        passive=True,
    )
    return ended(build(dated(scene, clause), simple(scene)))
