"""Which tense, aspect and mood a clause of a story gets."""

from headscope_grammar.cast.scene import Scene
from headscope_grammar.phrases.actions import Move
from headscope_grammar.phrases.clauses import Form
from headscope_grammar.tree import Node


def simple(scene: Scene) -> Form:
    """Return the story's plain tense."""
    return Form(tense=scene.tense)


def narrative(scene: Scene, move: Move) -> Form:
    """Return a form for a main clause: mostly plain, else perfect, progressive, modal or negated."""
    rng = scene.rng
    past = scene.tense == "past"
    negated = scene.chance(0.14) and deniable(move)
    if "b" in move.uses:
        return Form(tense=scene.tense)
    lasting = "s" in move.uses or "r" in move.uses
    way = rng.choices(("plain", "perfect", "progressive", "modal"), (0.66, 0.12, 0.1, 0.12))[0]
    if move.clause.verb in ("have", "sit", "stand", "lie") and way != "plain":
        way = "plain"
    if _always(move):
        negated = False
        way = "plain" if way in ("progressive", "modal") else way
    if negated:
        scene.use("negation")
    if way == "perfect" and not lasting and not _timed(move, past):
        scene.use("perfect")
        return Form(tense=scene.tense, perfect=True, negated=negated)
    if way == "progressive" and "d" in move.uses and "x" not in move.uses:
        scene.use("progressive")
        return Form(tense=scene.tense, progressive=True, negated=negated)
    if way == "modal" and ("d" in move.uses or "s" in move.uses):
        scene.use("modal verb")
        modals = ("could", "would", "might", "should") if past else ("can", "will", "may", "must", "should")
        modal = rng.choice(("would", "might") if past and "s" in move.uses else modals)
        return Form(tense=scene.tense, modal=modal, negated=negated)
    if negated and move.clause.verb != "be":
        contracted = scene.chance(0.35)
        if contracted:
            scene.use("contracted negation")
        return Form(tense=scene.tense, negated=True, contracted=contracted)
    return Form(tense=scene.tense, negated=negated)


def deniable(move: Move) -> bool:
    """Tell whether the clause may be negated: nothing in it is new, and no adverb or degree quarrels."""
    known = all(one.mentions or one.kind == "place" for one in move.who[1:])
    degree = isinstance(move.clause.predicate, Node) and bool(move.clause.predicate.before)
    return known and not degree and not _has_opinion(move)


def _adverbs(move: Move) -> set[str]:
    return {getattr(child, "word", "") for _, child in move.clause.adverbs}


def _always(move: Move) -> bool:
    """Tell whether an adverb stands in the clause that other forms would quarrel with."""
    habits = {"often", "always", "usually", "rarely", "sometimes", "never", "also", "still", "already", "even", "soon"}
    return bool(_adverbs(move) & habits)


def _has_opinion(move: Move) -> bool:
    return bool(move.clause.fronted) or bool(_adverbs(move))


def _timed(move: Move, past: bool) -> bool:
    """Tell whether a time is given, which the present perfect does not go with (nor `later` any)."""
    return not past and any(relation in ("obl", "obl:unmarked", "advmod") for relation, _ in move.clause.complements)
