"""Sentences out of the common order: existentials, inversions, clefts, clauses as subjects."""

from dataclasses import replace

from headscope_grammar.cast.scene import Scene
from headscope_grammar.phrases.basics import action, basic
from headscope_grammar.phrases.clauses import Clause, Form, build, finite
from headscope_grammar.phrases.common import Tree, marked
from headscope_grammar.phrases.modifiers import modified
from headscope_grammar.phrases.relatives import GAP
from headscope_grammar.phrases.verb_forms import simple
from headscope_grammar.tree import Edge, Node, Ref, ended, word
from headscope_grammar.words import inflection
from headscope_grammar.words.lexicon import nouns


def existential(scene: Scene) -> Tree:
    """`There was an old dog in the garden.`"""
    kind = scene.rng.choice(("animal", "people", "furniture", "container", "portable", "vehicle", "plant", "art"))
    thing = scene.thing(kind)
    scene.use("existential")
    ref = Ref(who=thing, form="noun")
    if scene.chance(0.5):
        scene.use("existential with a modifier")
        ref = modified(scene, ref, (thing,))
    verb = finite("be", scene.tense, thing.agreement)
    there: Edge = ("expl", word("there", "PRON"))
    after: list[Edge] = [("nsubj", ref)]
    if not ref.after or scene.chance(0.3):
        after.append(scene.where(indoors=_indoors(kind)))
    return ended(Node(word=verb, tag="VERB", before=(there,), after=tuple(after)))


def _indoors(kind: str) -> bool | None:
    return {"furniture": True, "container": True, "portable": True, "art": True, "people": None}.get(kind, False)


def inversion(scene: Scene) -> Tree:
    """`On the table stood a lamp.`"""
    thing = scene.thing(scene.rng.choice(("furniture", "container", "portable", "animal")))
    where = scene.where(indoors=_indoors(thing.kind))
    scene.use("inversion behind a place")
    verb = {"animal": "sit", "portable": "lie"}.get(thing.kind, "stand")
    form = finite(verb, scene.tense, thing.agreement)
    return ended(Node(word=form, tag="VERB", before=(where,), after=(("nsubj", Ref(who=thing, form="noun")),)))


def never_before(scene: Scene) -> Tree:
    """`Never had Anna seen such a beautiful house.`"""
    subject = scene.person()
    assert subject is not None
    scene.use("negative inversion")
    kind = scene.rng.choice(("building", "art", "vehicle", "animal", "plant"))
    noun = scene.rng.choice(nouns(kind))
    adjective = scene.rng.choice(("beautiful", "strange", "old", "wonderful", "large", "ugly"))
    node = word(
        noun.lemma,
        "NOUN",
        ("det:predet", word("such", "DET")),
        ("det", word(inflection.article(adjective), "DET")),
        ("amod", word(adjective, "ADJ")),
    )
    node = replace(node, entity=scene.unnamed(kind).id)
    clause = Clause(
        verb=scene.rng.choice(("see", "own", "photograph")),
        subject=Ref(who=subject),
        complements=(("obj", node),),
        fronted=(("advmod", word("never", "ADV")),),
    )
    return ended(build(clause, Form(tense=scene.tense, perfect=True, inverted=True)))


def cleft(scene: Scene) -> Tree:
    """`It was Tom who found the key.`"""
    subject = scene.person()
    move = action(scene, subject, (subject,)) if subject is not None else None
    if subject is None or move is None or subject.person == 1:
        return None
    scene.use("cleft")
    clause = replace(move.clause, subject=Ref(who=subject, form=GAP + "who"), agreement=subject.agreement)
    relative = build(clause, simple(scene))
    be: Edge = ("cop", word(finite("be", scene.tense, "n"), "AUX"))
    form = "name" if subject.named or (subject.name and not subject.mentions and not subject.kin) else "noun"
    it: Edge = ("nsubj", word("it", "PRON"))
    return ended(Ref(who=subject, form=form, before=(it, be), tail=(("acl:relcl", relative),)))


def what_cleft(scene: Scene) -> Tree:
    """`What Anna needed was a new bicycle.`"""
    subject = scene.person()
    assert subject is not None
    thing = scene.thing(scene.rng.choice(("vehicle", "instrument", "text", "clothes")), plural=False)
    scene.use("what-cleft")
    inner = build(Clause(verb=scene.rng.choice(("need", "want", "like")), subject=Ref(who=subject)), simple(scene))
    what = word("what", "PRON").with_after(("acl:relcl", inner))
    be: Edge = ("cop", word(finite("be", scene.tense, "n"), "AUX"))
    return ended(Ref(who=thing, form="noun", before=(("nsubj", what), be)))


def extraposed(scene: Scene) -> Tree:
    """`It was clear that Tom had lost the key.`, `It was difficult to find the key.`"""
    it: Edge = ("expl", word("it", "PRON"))
    be: Edge = ("cop", word(finite("be", scene.tense, "n"), "AUX"))
    if scene.chance(0.5):
        scene.use("extraposed that-clause")
        adjective = scene.rng.choice(("clear", "true", "possible", "strange", "obvious", "likely"))
        inner = basic(scene)
        perfect = scene.tense == "past" and "s" not in inner.uses and scene.chance(0.5)
        content = marked("that", build(inner.clause, Form(tense=scene.tense, perfect=perfect)))
    else:
        doer = scene.person()
        assert doer is not None
        scene.use("extraposed infinitive")
        adjective = scene.rng.choice(("difficult", "easy", "important", "necessary", "impossible"))
        inner = action(scene, doer, (doer,))
        content = build(replace(inner.clause, subject=None), Form(tense="to"))
        if scene.chance(0.5) and isinstance(content, Node):
            scene.use("infinitive with for")
            mark, *others = content.before
            someone: Edge = ("nsubj", Ref(who=doer, form="objective"))
            content = replace(content, before=(("mark", word("for", "SCONJ")), someone, mark, *others))
    return ended(word(adjective, "ADJ", it, be).with_after(("csubj", content)))


def clausal_subject(scene: Scene) -> Tree:
    """`Reading the letter made Anna happy.`, `That Tom had left surprised Anna.`"""
    subject = scene.person()
    other = scene.person(exclude=(subject,)) if subject else None
    if subject is None or other is None:
        return None
    if scene.chance(0.7):
        scene.use("clausal subject: gerund")
        inner = action(scene, subject, (other,))
        content = build(replace(inner.clause, subject=None), Form(tense="ing"))
    else:
        scene.use("clausal subject: that")
        inner = action(scene, other, (subject,))
        content = marked("that", build(inner.clause, Form(tense=scene.tense, perfect=True)))
    if scene.chance(0.5):
        verb, state = "make", word(scene.rng.choice(("happy", "tired", "nervous", "proud", "angry")), "ADJ")
        clause = Clause(verb=verb, complements=(("obj", Ref(who=subject)), ("xcomp", state)))
    else:
        verb = scene.rng.choice(("surprise", "delight", "annoy", "bore"))
        clause = Clause(verb=verb, complements=(("obj", Ref(who=subject)),))
    clause = replace(clause, subject=content, subject_relation="csubj")
    return ended(build(clause, simple(scene)))
