"""Questions: yes or no, with a question word, with a tag."""

from dataclasses import replace

from headscope_grammar.cast.entities import Entity
from headscope_grammar.cast.scene import Scene
from headscope_grammar.phrases.actions import Move, plain
from headscope_grammar.phrases.basics import action
from headscope_grammar.phrases.clauses import Clause, Form, build, finite
from headscope_grammar.phrases.common import Tree
from headscope_grammar.phrases.states import feeling
from headscope_grammar.phrases.verb_forms import simple
from headscope_grammar.sentences.speaking import reported, talkers
from headscope_grammar.tree import Edge, Node, Ref, comma, ended, word


def question(scene: Scene) -> Tree:
    """A question of the story's own, or one that somebody asks: `"Where did you find the key?" asked Anna.`"""
    pair = talkers(scene)
    if pair is None or scene.chance(0.3):
        subject = scene.person()
        if subject is None or not subject.mentions:
            return None
        content = _asking(scene, subject, None, None, simple(scene))
        return None if content is None else ended(content, "?")
    speaker, hearer = pair
    subject = hearer if scene.chance(0.6) else scene.person(exclude=(speaker,))
    if subject is None:
        return None
    form = scene.rng.choice(
        (Form(tense="past"), Form(tense="present", modal="can"), Form(tense="present", perfect=True))
    )
    content = _asking(scene, subject, speaker, hearer, form)
    if content is None:
        return None
    return reported(scene, "ask", content, "?", speaker, hearer)


def _asking(scene: Scene, subject: Entity, speaker: Entity | None, hearer: Entity | None, form: Form) -> Node | None:
    way = scene.rng.choice(("yes", "yes", "why", "when", "where", "what", "what", "who", "how", "state"))
    inverted = replace(form, inverted=True)
    if way in ("who", "what"):
        move = plain(scene, subject, (subject,), uses="d")
        if move is None:
            return None
        if way == "who":
            scene.use("question: subject")
            other = Clause(verb=move.clause.verb, subject=word("who", "PRON"), complements=move.clause.complements)
            return _node(build(replace(other, agreement="n"), form))
        if move.clause.verb not in _ASKED:
            return None
        scene.use("question: object")
        asked: Edge = ("obj", word("whom" if move.who[1].kind == "person" else "what", "PRON"))
        clause = replace(move.clause, complements=move.clause.complements[1:], fronted=(asked,))
        return _node(build(clause, inverted, speaker=speaker, hearer=hearer))
    if way == "state":
        state = feeling(scene, subject)
        if state is None:
            return None
        scene.use("question: copula")
        asked_form = Form(tense="present" if speaker else scene.tense, inverted=True)
        adverb: tuple[Edge, ...] = (("advmod", word("why", "ADV")),) if scene.chance(0.5) else ()
        return _node(build(state.clause.led(*adverb), asked_form, speaker=speaker, hearer=hearer))
    move = action(scene, subject)
    if way == "yes":
        scene.use("question: yes or no")
        return _node(build(move.clause, inverted, speaker=speaker, hearer=hearer))
    if way == "where" and scene.placed:
        way = "when"
    scene.use("question: adverb")
    clause = move.clause.led(("advmod", word(way, "ADV")))
    if speaker is not None:  # "when have you" and "why can you" are odd
        inverted = Form(tense="past", inverted=True)
    return _node(build(clause, inverted, speaker=speaker, hearer=hearer))


_ASKED = (
    "find", "hide", "carry", "bring", "read", "write", "buy", "sell", "repair", "eat", "bake", "meet", "visit", "help",
    "draw", "build", "photograph", "lose", "break", "steal", "call", "invite", "paint", "follow", "clean", "drink",
)  # fmt: skip


def _node(child: Node | Ref) -> Node | None:
    return child if isinstance(child, Node) else None


def tag_question(scene: Scene) -> Tree:
    """`"You found the key, didn't you?" asked Anna.`"""
    pair = talkers(scene)
    if pair is None:
        return None
    speaker, hearer = pair
    subject = hearer if scene.chance(0.7) else scene.person(exclude=(speaker,))
    if subject is None or subject is speaker or subject.person == 1:
        return None
    if scene.chance(0.4):
        move: Move | None = feeling(scene, subject)
        helper, tense = "be", "present"
    else:
        move = action(scene, subject)
        helper, tense = "do", "past"
    if move is None:
        return None
    scene.use("question: tag")
    agreement = "2" if subject is hearer else subject.agreement
    tag = word(finite(helper, tense, agreement), "AUX", comma()).with_after(
        ("advmod", word("n't", "PART", glued=True)), ("nsubj", Ref(who=subject, form="pronoun"))
    )
    content = build(move.clause, Form(tense=tense), speaker=speaker, hearer=hearer)
    assert isinstance(content, Node)
    return reported(scene, "ask", content.with_after(("parataxis", tag)), "?", speaker, hearer)
