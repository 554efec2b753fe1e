"""Sentences with a clause that says when, why, what for or under which condition."""

from dataclasses import replace

from headscope_grammar.cast.entities import Entity
from headscope_grammar.cast.scene import Scene
from headscope_grammar.phrases.actions import Move, plain
from headscope_grammar.phrases.adjuncts import adorned, dated
from headscope_grammar.phrases.basics import action
from headscope_grammar.phrases.clauses import Clause, Form, build
from headscope_grammar.phrases.common import CAUSES, Tree, bare, marked
from headscope_grammar.phrases.modifiers import decorated
from headscope_grammar.phrases.times import set_off
from headscope_grammar.phrases.verb_forms import deniable, simple
from headscope_grammar.tree import Node, Ref, comma, ended, extended, preceded, word


def reason(scene: Scene, subject: Entity) -> Node | Ref:
    """Return a state as a clause that explains something: `she was tired`, `it was raining`."""
    if scene.chance(0.25):
        weather = Clause(verb=scene.rng.choice(("rain", "snow")), subject=word("it", "PRON"), subject_relation="expl")
        return build(weather, Form(tense=scene.tense, progressive=True))
    state = word(scene.fresh(CAUSES), "ADJ")
    if scene.chance(0.4):
        state = state.with_before(("advmod", word(scene.rng.choice(("very", "rather", "quite")), "ADV")))
    clause = Clause(verb="be", subject=Ref(who=subject), predicate=state)
    return build(clause, Form(tense=scene.tense))


def _linked(scene: Scene, *, main: Move, mark: str, inner: Node | Ref, form: Form, name: str) -> Tree:
    """Return a main clause with an adverbial clause before or behind it."""
    inner = marked(mark, inner)
    if scene.chance(0.5):
        scene.use(f"{name}, before")
        clause = main.clause.led(set_off(("advcl", inner)))
    else:
        scene.use(f"{name}, behind")
        if mark == "although":
            inner = preceded(inner, comma())
        clause = main.clause.plus(("advcl", inner))
    return ended(build(clause, form))


def because(scene: Scene) -> Tree:
    """`Anna stayed because she was tired`, `Although it was raining, ...`."""
    subject = scene.person()
    assert subject is not None
    # nobody else of the subject's sex, so that "because she was tired" is clear
    rivals = [one for one in scene.cast if one.agreement == subject.agreement]
    main = adorned(scene, action(scene, subject, rivals), front=False, most=1)
    mark = scene.rng.choice(("because", "because", "although", "since"))
    name = "adverbial: concession" if mark == "although" else "adverbial: cause"
    form = Form(tense=scene.tense, negated=mark != "although" and deniable(main) and scene.chance(0.4))
    return _linked(scene, main=main, mark=mark, inner=reason(scene, subject), form=form, name=name)


def at_a_time(scene: Scene) -> Tree:
    """`When Tom arrived, Anna was reading a book`, `before`, `after`, `while`, `until`."""
    subject = scene.person()
    other = scene.person(exclude=(subject,)) if subject else None
    if subject is None or other is None:
        return None
    mark = scene.rng.choice(("when", "while", "before", "after"))
    inner = action(scene, other, (subject,))
    main = decorated(scene, action(scene, subject, (other,)))
    progressive = mark == "while"
    inner_form = Form(tense=scene.tense, progressive=progressive, perfect=mark == "after" and scene.tense == "past")
    form = Form(tense=scene.tense, progressive=mark == "when" and scene.chance(0.5))
    return _linked(
        scene, main=main, mark=mark, inner=build(inner.clause, inner_form), form=form, name="adverbial: time"
    )


def condition(scene: Scene) -> Tree:
    """`If Tom finds the key, Anna will open the box`, `If Tom found ..., would ...`."""
    subject = scene.person()
    other = scene.person(exclude=(subject,)) if subject else None
    if subject is None or other is None:
        return None
    inner = action(scene, other, (subject,))
    main = action(scene, subject, (other,))
    past = scene.tense == "past"
    mark = scene.rng.choice(("if", "if", "unless"))
    form = Form(tense=scene.tense, modal="would" if past else "will")
    inner_tree = build(inner.clause, Form(tense=scene.tense))
    return _linked(scene, main=main, mark=mark, inner=inner_tree, form=form, name="adverbial: condition")


def purpose(scene: Scene) -> Tree:
    """`Anna went to the market to buy an apple`, `in order to meet Tom`."""
    subject = scene.person()
    assert subject is not None
    inner = action(scene, subject)
    if scene.placed or any(one.kind == "place" for one in inner.who):  # one goes to one place only
        return None
    aim = bare(inner, "to")
    if scene.chance(0.25):
        scene.use("purpose: in order to")
        order = word("in", "SCONJ").with_after(("fixed", word("order", "NOUN")))
        aim = aim.with_before(("mark", order))
    else:
        scene.use("purpose: infinitive")
    verb = scene.rng.choice(("go", "go", "drive", "walk", "hurry", "come", "return"))
    clause = Clause(verb=verb, subject=Ref(who=subject), complements=(scene.whither(), ("advcl", aim)))
    return ended(build(dated(scene, clause), simple(scene)))


def participle(scene: Scene) -> Tree:
    """`Walking home, Anna met Tom`; `Anna sat in the garden, reading a book`; `without saying ...`."""
    subject = scene.person()
    assert subject is not None
    inner = action(scene, subject)
    main = action(scene, subject, inner.who[1:])
    way = scene.rng.choice(("before", "behind", "mark", "without"))
    lasting = plain(scene, subject, main.who, uses="l") if way in ("before", "behind") else None
    if lasting is not None and "obj" in (relation for relation, _ in lasting.clause.complements):
        lasting = None
    if way == "behind" and lasting is None:
        return None
    if way == "mark":
        scene.use("gerund after a conjunction")
        mark = scene.rng.choice(("after", "before"))
        node = marked(mark, bare(inner, "ing"))
        if scene.chance(0.6):
            return ended(build(main.clause.led(set_off(("advcl", node))), simple(scene)))
        return ended(build(main.clause.plus(("advcl", node)), simple(scene)))
    if way == "without":
        scene.use("gerund after without or by")
        node = marked("without", bare(inner, "ing"))
        return ended(build(main.clause.plus(("advcl", node)), simple(scene)))
    scene.use("participle clause, before" if way == "before" else "participle clause, behind")
    perfect = way == "before" and (lasting is None or scene.chance(0.6))
    node = bare(inner if perfect or lasting is None else lasting, "ing", perfect=perfect)
    if way == "before":
        return ended(build(main.clause.led(set_off(("advcl", node))), simple(scene)))
    return ended(build(main.clause.plus(("advcl", node.with_before(comma()))), simple(scene)))


def so_that(scene: Scene) -> Tree:
    """`Anna was so tired that she slept`, `too tired to ...`."""
    subject = scene.person()
    assert subject is not None
    adjective = word(scene.fresh(CAUSES), "ADJ")
    verb = scene.rng.choice(("sleep", "work", "sing", "drive", "wait", "travel", "read", "write", "rest"))
    if scene.chance(0.5):
        scene.use("so that")
        if scene.chance(0.5):
            modal = "could" if scene.tense == "past" else "can"
            clause = Clause(verb=verb, subject=Ref(who=subject))
            result = marked("that", build(clause, Form(tense=scene.tense, modal=modal, negated=True)))
        else:
            clause = Clause(verb=scene.rng.choice(("hurry", "return", "go")), subject=Ref(who=subject))
            result = marked("that", build(clause.plus(scene.whither()), Form(tense=scene.tense)))
        degree = "so"
    else:
        scene.use("too to")
        result = build(Clause(verb=verb), Form(tense="to"))
        degree = "too"
    predicate = adjective.with_before(("advmod", word(degree, "ADV"))).with_after(("advcl", result))
    clause = Clause(verb="be", subject=Ref(who=subject), predicate=predicate)
    return ended(build(dated(scene, clause), simple(scene)))


def long_sentence(scene: Scene) -> Tree:
    """Two clauses with what hangs on them, and a third that says when, why or under which condition."""
    subject = scene.person()
    other = scene.person(exclude=(subject,)) if subject else None
    if subject is None or other is None:
        return None
    scene.use("long sentence")
    inner = decorated(scene, action(scene, other, (subject,)))
    first = adorned(scene, decorated(scene, action(scene, subject, inner.who)), front=False)
    second = adorned(scene, decorated(scene, action(scene, subject, (*inner.who, *first.who[1:]))), front=False)
    mark = scene.rng.choice(("when", "before", "after", "while", "because", "although"))
    form = Form(tense=scene.tense, progressive=mark == "while")
    opening = marked(mark, build(inner.clause, form))
    joined = build(replace(second.clause, subject=None, agreement=subject.agreement), simple(scene))
    pause = (comma(),) if scene.chance(0.4) else ()
    joined = preceded(joined, *pause, ("cc", word("and", "CCONJ")))
    main = build(first.clause.led(set_off(("advcl", opening))), simple(scene))
    return ended(extended(main, ("conj", joined)))
