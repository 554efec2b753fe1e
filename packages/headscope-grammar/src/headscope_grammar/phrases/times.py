"""Adverbials as phrases: times, manners, and what is set off by a comma."""

from dataclasses import replace

from headscope_grammar.cast.scene import Scene
from headscope_grammar.tree import Edge, Node, comma, with_case, word
from headscope_grammar.words.lexicon import words

_NUMBERS = ("two", "three", "four", "five", "ten")


def time(scene: Scene) -> Edge:
    """Return when something happened, once a sentence: `on Monday`, `last week`, `two days later`."""
    scene.timed = True
    rng = scene.rng
    past = scene.tense == "past"
    way = rng.choice(
        (
            "day",
            "month",
            "part",
            "meal",
            "bare",
            "bare",
            "measured" if past and scene.speaker.sentence else "day",
            "clock",
        )
    )
    if way == "day":
        scene.use("time: on a day")
        name = scene.fresh(words("days"))
        return ("obl", case("on", word(name if past else name + "s", "PROPN")))
    if way == "month":
        scene.use("time: in a month")
        return ("obl", case("in", word(scene.fresh(words("months")), "PROPN")))
    if way == "part":
        scene.use("time: in the morning")
        part = rng.choice(("morning", "afternoon", "evening"))
        return ("obl", case("in", word(part, "NOUN", ("det", word("the", "DET")))))
    if way == "meal":
        scene.use("time: after lunch")
        meal = word(rng.choice(("lunch", "breakfast", "supper", "work")), "NOUN")
        return ("obl", case(rng.choice(("after", "before")), meal))
    if way == "clock":
        scene.use("time: at noon")
        return ("obl", case("at", word(rng.choice(("noon", "midnight", "night", "dawn")), "NOUN")))
    if way == "measured":
        scene.use("time: two days later")
        number = word(rng.choice(_NUMBERS), "NUM")
        unit = word(rng.choice(("days", "weeks", "hours", "months")), "NOUN", ("nummod", number))
        return ("advmod", word("later", "ADV", ("obl:unmarked", unit)))
    scene.use("time: without a preposition")
    options = "last week, that morning, one day, that evening, last year, one afternoon"
    options = options if past else "every day, every morning, every evening, every week, each year"
    first, unit_word = rng.choice(options.split(", ")).split()
    relation, tag = {"last": ("amod", "ADJ"), "one": ("nummod", "NUM")}.get(first, ("det", "DET"))
    return ("obl:unmarked", word(unit_word, "NOUN", (relation, word(first, tag))))


def case(preposition: str, node: Node) -> Node:
    """Return a noun behind its preposition."""
    marked = with_case(preposition, node)
    assert isinstance(marked, Node)
    return marked


def manner(scene: Scene) -> Edge:
    """Return an adverb of manner, now and then with a degree: `very carefully`."""
    adverb = word(scene.fresh(words("manner")), "ADV")
    if adverb.word not in ("suddenly", "silently") and scene.chance(0.25):
        adverb = adverb.with_before(("advmod", word("very", "ADV")))
    return ("advmod", adverb)


def set_off(edge: Edge) -> Edge:
    """Return a fronted unit with the comma that ends it."""
    relation, child = edge
    if isinstance(child, Node):
        return (relation, child.with_after(comma()))
    return (relation, replace(child, tail=(*child.tail, comma())))
