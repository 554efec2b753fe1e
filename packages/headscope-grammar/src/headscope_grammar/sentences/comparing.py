"""Comparisons, exclamations, measures."""

from headscope_grammar.cast.noun_phrases import first_word
from headscope_grammar.cast.scene import Scene
from headscope_grammar.phrases.adjuncts import dated
from headscope_grammar.phrases.clauses import Clause, build, finite
from headscope_grammar.phrases.common import Tree
from headscope_grammar.phrases.verb_forms import simple
from headscope_grammar.tree import Node, Ref, ended, with_case, word
from headscope_grammar.words import inflection
from headscope_grammar.words.lexicon import nouns, words


def comparison(scene: Scene) -> Tree:
    """`Anna was taller than her brother`, `as tall as`, `the most famous of the painters`."""
    subject = scene.person(named=True)
    other = scene.person(exclude=(subject,), named=True) if subject else None
    if subject is None or other is None:
        return None
    adjective = scene.fresh(words("comparable", "person"))
    way = scene.rng.choice(("more", "more", "as", "most"))
    if way == "as":
        scene.use("comparison: equal")
        predicate = word(adjective, "ADJ", ("advmod", word("as", "ADV")))
        predicate = predicate.with_after(("obl", with_case("as", Ref(who=other))))
    elif way == "more":
        scene.use("comparison: more")
        predicate = _graded(adjective, inflection.comparative(adjective), "more")
        if scene.chance(0.3):
            predicate = predicate.with_before(("advmod", word("much", "ADV")))
        predicate = predicate.with_after(("obl", with_case("than", Ref(who=other))))
    else:
        scene.use("superlative")
        graded = _graded(adjective, inflection.superlative(adjective), "most")
        noun = word("person", "NOUN", ("det", word("the", "DET")), ("amod", graded))
        place = scene.place()
        assert place.noun is not None
        predicate = noun.with_after(("nmod", with_case(place.noun.locative, Ref(who=place, form="noun"))))
    return ended(build(Clause(verb="be", subject=Ref(who=subject), predicate=predicate), simple(scene)))


def _graded(adjective: str, inflected: str | None, helper: str) -> Node:
    if inflected:
        return word(inflected, "ADJ")
    return word(adjective, "ADJ", ("advmod", word(helper, "ADV")))


def compared_things(scene: Scene) -> Tree:
    """`The lamp was more expensive than the clock.`"""
    known = [
        one
        for one in scene.things
        if one.mentions
        and not one.gone
        and one.kind in ("portable", "vehicle", "clothes", "furniture", "instrument", "machine")
    ]
    if not known:
        return None
    thing = scene.rng.choice(known)
    other = scene.thing(thing.kind, plural=False)
    adjective = scene.fresh(words("comparable", "thing"))
    scene.use("comparison: things")
    predicate = _graded(adjective, inflection.comparative(adjective), "more")
    predicate = predicate.with_after(("obl", with_case("than", Ref(who=other, form="noun"))))
    return ended(build(Clause(verb="be", subject=Ref(who=thing), predicate=predicate), simple(scene)))


def exclamation(scene: Scene) -> Tree:
    """`What a beautiful garden!`, `How tired Anna was!`"""
    if scene.chance(0.5):
        kind = scene.rng.choice(("building", "art", "animal", "place"))
        noun = scene.rng.choice(nouns(kind))
        adjective = scene.rng.choice(("beautiful", "strange", "wonderful", "lovely", "ugly"))
        scene.use("exclamation: what a")
        node = word(noun.lemma, "NOUN", ("amod", word(adjective, "ADJ")))
        article = inflection.article(first_word(node))
        return ended(node.with_before(("det:predet", word("what", "DET")), ("det", word(article, "DET"))), "!")
    subject = scene.person()
    if subject is None or not subject.mentions:
        return None
    scene.use("exclamation: how")
    be = finite("be", scene.tense, subject.agreement)
    state = word(scene.fresh(words("states", "person")), "ADJ", ("advmod", word("how", "ADV")))
    return ended(state.with_after(("nsubj", Ref(who=subject)), ("cop", word(be, "AUX"))), "!")


def measured(scene: Scene) -> Tree:
    """`Anna was forty years old.`, `The station was two miles away.`"""
    number = word(scene.rng.choice(("twenty", "thirty", "forty", "fifty", "sixty")), "NUM")
    if scene.chance(0.6):
        subject = scene.person(named=True)
        if subject is None or {"young", "old", "retired"} & set(subject.adjectives):
            return None
        scene.use("measure: years old")
        unit = word("years", "NOUN", ("nummod", number))
        predicate = word("old", "ADJ", ("obl:unmarked", unit))
        clause = Clause(verb="be", subject=Ref(who=subject), predicate=predicate)
    else:
        scene.use("measure: miles away")
        unit = word(scene.rng.choice(("miles", "minutes", "kilometres")), "NOUN", ("nummod", number))
        predicate = word("away", "ADV", ("obl:unmarked", unit))
        clause = Clause(verb="be", subject=Ref(who=scene.place(), form="noun"), predicate=predicate)
    return ended(build(dated(scene, clause), simple(scene)))
