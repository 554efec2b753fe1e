"""Sentences with a clause as complement: that-clauses, infinitives, gerunds, results."""

from dataclasses import replace

from headscope_grammar.cast.scene import Scene
from headscope_grammar.phrases.actions import Move
from headscope_grammar.phrases.adjuncts import adorned, dated
from headscope_grammar.phrases.basics import action, basic
from headscope_grammar.phrases.clauses import Clause, Form, build
from headscope_grammar.phrases.common import Tree, bare, marked
from headscope_grammar.phrases.states import feeling
from headscope_grammar.phrases.verb_forms import simple
from headscope_grammar.tree import Node, Ref, ended, word
from headscope_grammar.words.lexicon import words


def that_clause(scene: Scene) -> Tree:
    """`Anna said that Tom had found the key`, with `that` or without."""
    subject = scene.person()
    assert subject is not None
    verb = scene.fresh(words("saying"))
    inner_subject = subject if scene.chance(0.35) and subject.owner is None else scene.person(exclude=(subject,))
    inner = basic(scene, inner_subject, (subject,) if inner_subject is not subject else ())
    past = scene.tense == "past"
    event = not {"s", "r"} & set(inner.uses)
    form = Form(tense=scene.tense, perfect=past and event and scene.chance(0.45))
    if verb == "hope" or (event and verb in ("believe", "insist", "think") and scene.chance(0.4)):
        form = Form(tense=scene.tense, modal="would" if past else "will")
    content = build(adorned(scene, inner, front=False, most=1).clause, form)
    short = verb in ("say", "think", "believe", "hope", "know") and scene.chance(0.5)
    scene.use("that-clause without that" if short else "that-clause")
    content = content if short else marked("that", content)
    clause = Clause(verb=verb, subject=Ref(who=subject), complements=(("ccomp", content),))
    dates = verb in ("say", "explain", "announce", "notice", "hear")
    return ended(build(dated(scene, clause, chance=0.3 if dates else 0.0), simple(scene)))


def telling(scene: Scene) -> Tree:
    """`Anna told Tom that the car was old`."""
    subject = scene.person()
    hearer = scene.person(exclude=(subject,)) if subject else None
    if subject is None or hearer is None:
        return None
    # what is told may be about the teller, where a pronoun can say which of the two that is
    alike = subject.agreement == hearer.agreement or subject.owner is not None
    inner = basic(scene, None, (hearer, subject) if alike or scene.chance(0.5) else (hearer,))
    scene.use("telling that")
    event = not {"s", "r"} & set(inner.uses)
    form = Form(tense=scene.tense, perfect=scene.tense == "past" and event and scene.chance(0.4))
    content = marked("that", build(inner.clause, form))
    clause = Clause(
        verb=scene.rng.choice(words("telling")),
        subject=Ref(who=subject),
        complements=(("iobj", Ref(who=hearer)), ("ccomp", content)),
    )
    return ended(build(dated(scene, clause), simple(scene)))


def indirect_question(scene: Scene) -> Tree:
    """`Anna wondered whether Tom had found the key`, `... why the car was so old`."""
    subject = scene.person()
    other = scene.person(exclude=(subject,)) if subject else None
    if subject is None or other is None:
        return None
    inner = basic(scene, other, (subject,))
    mark = scene.rng.choice(("whether", "if", "why", "why"))
    event = not {"s", "r"} & set(inner.uses)
    scene.use("indirect question")
    content = marked(mark, build(inner.clause, Form(tense=scene.tense, perfect=event)))
    if mark in ("whether", "if"):
        verb = scene.rng.choice(words("wondering"))
    else:
        verb = scene.rng.choice(("wonder", "know", "ask", "explain", "understand"))
    form = simple(scene)
    if verb in ("know", "understand"):
        form = replace(form, negated=True)
    clause = Clause(verb=verb, subject=Ref(who=subject), complements=(("ccomp", content),))
    return ended(build(clause, form))


def intending(scene: Scene) -> Tree:
    """`Anna wanted to buy the car`, `was going to`, `had to`, `used to`."""
    subject = scene.person()
    assert subject is not None
    inner = adorned(scene, action(scene, subject), front=False, most=1, finite=False)
    way = scene.rng.choice(("verb", "verb", "verb", "want", "have", "going", "used"))
    verb = {"verb": scene.fresh(words("intending")), "going": "go", "used": "use"}.get(way, way)
    if way == "used" and scene.tense == "present":
        verb, way = "want", "want"
    names = {"have": "have to", "going": "going to", "used": "used to"}
    scene.use(names.get(way, "control: infinitive"))
    negated = way in ("verb", "want") and verb in ("want", "hesitate", "manage", "forget") and scene.chance(0.3)
    clause = Clause(verb=verb, subject=Ref(who=subject), complements=(("xcomp", bare(inner, "to")),))
    form = Form(tense=scene.tense, progressive=way == "going", negated=negated)
    return ended(build(dated(scene, clause, chance=0.0 if way == "used" else 0.35), form))


def seeming(scene: Scene) -> Tree:
    """`Anna seemed to know Tom`, `Anna looked tired`, `Anna seemed very happy`."""
    subject = scene.person()
    assert subject is not None
    move = feeling(scene, subject)
    if move is None or move.clause.predicate is None:
        return None
    if scene.chance(0.5):
        scene.use("raising: infinitive")
        verb = scene.rng.choice(("seem", "appear"))
        inner: Node | Ref = build(replace(move.clause, subject=None), Form(tense="to"))
    else:
        scene.use("raising: adjective")
        verb = scene.rng.choice(("seem", "look", "feel", "become"))
        inner = move.clause.predicate
    clause = Clause(verb=verb, subject=Ref(who=subject), complements=(("xcomp", inner),))
    return ended(build(dated(scene, clause), simple(scene)))


def gerund_object(scene: Scene) -> Tree:
    """`Anna enjoyed reading the book`, `stopped working`."""
    subject = scene.person()
    assert subject is not None
    inner = action(scene, subject)
    scene.use("gerund as complement")
    verb = scene.fresh(words("gerunds"))
    clause = Clause(verb=verb, subject=Ref(who=subject), complements=(("xcomp", bare(inner, "ing")),))
    return ended(build(adorned(scene, Move(clause=clause, uses="", who=(subject,)), most=1).clause, simple(scene)))


def requesting(scene: Scene) -> Tree:
    """`Anna asked Tom to open the box`, `persuaded him to ...`, `let him ...`."""
    subject = scene.person()
    other = scene.person(exclude=(subject,)) if subject else None
    if subject is None or other is None:
        return None
    inner = action(scene, other, (subject,))
    way = scene.rng.choice(("request", "request", "cause", "let"))
    shape = "bare" if way == "let" else "to"
    verb = {
        "request": scene.rng.choice(words("requests")),
        "cause": scene.rng.choice(words("causing")),
        "let": scene.rng.choice(("let", "make")),
    }[way]
    scene.use({"request": "control: request", "cause": "control: object", "let": "causative"}[way])
    relation = "iobj" if way == "request" else "obj"
    negated = way == "request" and scene.chance(0.2)
    clause = Clause(
        verb=verb,
        subject=Ref(who=subject),
        complements=((relation, Ref(who=other)), ("xcomp", bare(inner, shape, negated=negated))),
    )
    return ended(build(dated(scene, clause), simple(scene)))


def perceiving(scene: Scene) -> Tree:
    """`Anna saw Tom leave the house`, `heard him singing`."""
    subject = scene.person()
    other = scene.person(exclude=(subject,)) if subject else None
    if subject is None or other is None:
        return None
    inner = action(scene, other, (subject,))
    scene.use("perception")
    shape = scene.rng.choice(("bare", "ing"))
    clause = Clause(
        verb=scene.rng.choice(words("seeing")),
        subject=Ref(who=subject),
        complements=(("obj", Ref(who=other)), ("xcomp", bare(inner, shape))),
    )
    return ended(build(dated(scene, clause), simple(scene)))


def resulting(scene: Scene) -> Tree:
    """`Anna painted the door green`, `The letter made Tom happy`."""
    subject = scene.person()
    assert subject is not None
    if scene.chance(0.5):
        thing = scene.something(("furniture", "building"), exclude=(subject,))
        color = scene.rng.choice(("green", "white", "blue", "yellow", "red"))
        if thing is None:
            return None
        verb, source, target, state = "paint", Ref(who=subject), Ref(who=thing), color
    else:
        cause = scene.something(("text", "event", "idea", "art"))
        if cause is None:
            return None
        state = scene.rng.choice(("happy", "angry", "nervous", "sad", "curious"))
        verb, source, target = "make", Ref(who=cause), Ref(who=subject)
    scene.use("resultative")
    clause = Clause(verb=verb, subject=source, complements=(("obj", target), ("xcomp", word(state, "ADJ"))))
    return ended(build(dated(scene, clause), simple(scene)))
