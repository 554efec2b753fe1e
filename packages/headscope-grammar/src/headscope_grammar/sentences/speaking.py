"""Direct speech: statements, opinions, commands."""

from dataclasses import replace

from headscope_grammar.cast.entities import Entity
from headscope_grammar.cast.scene import Scene
from headscope_grammar.phrases.basics import action, basic
from headscope_grammar.phrases.clauses import Clause, Form, build, finite
from headscope_grammar.phrases.common import Tree, marked
from headscope_grammar.phrases.states import feeling
from headscope_grammar.phrases.times import set_off
from headscope_grammar.tree import Edge, Node, Ref, comma, ended, word
from headscope_grammar.words.lexicon import words


def talkers(scene: Scene) -> tuple[Entity, Entity] | None:
    """Return two whom the reader knows, the first to speak to the second."""
    known = [one for one in scene.cast if one.mentions and one.person == 3]
    if len(known) < 2:
        return None
    speaker, hearer = scene.rng.sample(known, 2)
    return speaker, hearer


def quoted(content: Node, mark: str, *, voice: tuple[Entity, Entity | None]) -> Node:
    """Return what is said between quotation marks, with the mark that ends it; `voice` is who says it to whom."""
    opening: Edge = ("punct", Node(word='"', tag="PUNCT", opens=True))
    final: Edge = ("punct", word(mark, "PUNCT", glued=True))
    closing: Edge = ("punct", word('"', "PUNCT", glued=True))
    return replace(content.with_before(opening).with_after(final, closing), voice=voice)


def reported(scene: Scene, verb: str, content: Node, mark: str, speaker: Entity, hearer: Entity | None) -> Tree:
    """Return speech with who spoke it, before or behind: `"...," said Anna`, `Anna said, "..."`."""
    form = finite(verb, scene.tense, speaker.agreement)
    if scene.chance(0.65):
        speech = quoted(content, mark, voice=(speaker, hearer))
        if scene.chance(0.6):
            scene.use("direct speech, speaker behind")
            after: tuple[Edge, ...] = (("nsubj", Ref(who=speaker, form="noun")),)
            return ended(Node(word=form, tag="VERB", before=(("ccomp", speech),), after=after))
        scene.use("direct speech, before")
        return ended(Node(word=form, tag="VERB", before=(("ccomp", speech), ("nsubj", Ref(who=speaker)))))
    scene.use("direct speech, behind")
    final = "." if mark == "," else mark
    speech = quoted(content, final, voice=(speaker, hearer)).with_before(comma())
    return Node(word=form, tag="VERB", before=(("nsubj", Ref(who=speaker)),), after=(("ccomp", speech),))


def statement(scene: Scene) -> Tree:
    """`"I am very tired," said Anna.`; `"Tom found your book," Anna said.`"""
    pair = talkers(scene)
    if pair is None:
        return None
    speaker, hearer = pair
    subject = speaker if scene.chance(0.55) else scene.person(exclude=(speaker,))
    if subject is None:
        return None
    move = basic(scene, subject, (speaker, hearer) if subject is not speaker and scene.chance(0.5) else (subject,))
    if move.who[0] is not subject:
        return None
    lasting = "s" in move.uses or "r" in move.uses
    form = (
        Form(tense="present")
        if lasting
        else scene.rng.choice(
            (
                Form(tense="present", modal="will"),
                Form(tense="present", perfect=True),
                Form(tense="past"),
                Form(tense="present", modal="can", negated=True),
                Form(tense="past", negated=True, contracted=True),
                Form(tense="present", progressive="d" in move.uses and "x" not in move.uses, perfect="x" in move.uses),
            )
        )
    )
    content = build(move.clause, form, speaker=speaker, hearer=hearer)
    if not isinstance(content, Node):
        return None
    return reported(scene, scene.rng.choice(words("reporting")), _greeted(scene, content, hearer), ",", speaker, hearer)


def _greeted(scene: Scene, content: Node, hearer: Entity) -> Node:
    """Return what is said, perhaps behind `oh`, or with the hearer's name."""
    if scene.chance(0.55):
        scene.use("discourse word")
        interjection = scene.rng.choice(("oh", "well", "yes", "no", "ah"))
        content = content.with_before(set_off(("discourse", word(interjection, "INTJ"))))
    if hearer.named and not hearer.title and scene.chance(0.4):
        scene.use("vocative")
        if scene.chance(0.5):
            name = Ref(who=hearer, form="name", before=(comma(),))
            return content.with_after(("vocative", name))
        return content.with_before(set_off(("vocative", Ref(who=hearer, form="name"))))
    return content


def command(scene: Scene) -> Tree:
    """`"Please give me the key," said Anna.`; `"Do not open the box, Tom!"`"""
    pair = talkers(scene)
    if pair is None:
        return None
    speaker, hearer = pair
    move = action(scene, hearer, () if scene.chance(0.6) else (speaker,))
    if move.clause.verb in ("understand", "lose", "miss", "admit", "answer", "break", "steal", "meet", "leave"):
        return None
    scene.use("imperative")
    content = build(replace(move.clause, subject=None), Form(tense="bare"))
    assert isinstance(content, Node)
    if scene.chance(0.3):
        scene.use("negative imperative")
        negation: Edge = ("advmod", word("not", "PART"))
        content = content.with_before(("aux", word("do", "AUX")), negation)
    elif scene.chance(0.4):
        scene.use("please")
        content = content.with_before(("discourse", word("please", "INTJ")))
    if hearer.named and not hearer.title and scene.chance(0.5):
        scene.use("vocative")
        content = content.with_after(("vocative", Ref(who=hearer, form="name", before=(comma(),))))
    mark = scene.rng.choice((",", "!"))
    verb = scene.rng.choice(("say", "shout", "whisper")) if mark == "," else "shout"
    return reported(scene, verb, content, mark, speaker, hearer)


def opinion(scene: Scene) -> Tree:
    """`"I think that Tom is tired," said Anna.`"""
    pair = talkers(scene)
    if pair is None:
        return None
    speaker, hearer = pair
    about = hearer if scene.chance(0.5) else scene.person(exclude=pair)
    move = feeling(scene, about) if about is not None else None
    if move is None:
        return None
    scene.use("opinion in speech")
    inner = build(move.clause, Form(tense="present"), speaker=speaker, hearer=hearer)
    inner = marked("that", inner) if scene.chance(0.4) else inner
    clause = Clause(
        verb=scene.rng.choice(("think", "believe", "know", "hope")),
        subject=Ref(who=speaker),
        complements=(("ccomp", inner),),
    )
    content = build(clause, Form(tense="present"), speaker=speaker, hearer=hearer)
    assert isinstance(content, Node)
    return reported(scene, scene.rng.choice(words("reporting")), _greeted(scene, content, hearer), ",", speaker, hearer)
