"""Clauses: subject, auxiliaries, verb and what follows, finite or not, with agreement and word order."""

from dataclasses import dataclass, replace

from headscope_grammar.cast.entities import Entity
from headscope_grammar.tree import Edge, Node, Ref, word
from headscope_grammar.words.lexicon import forms


@dataclass(frozen=True, kw_only=True)
class Form:
    """How a verb is inflected.

    Attributes:
        tense: `past` or `present`; `bare`, `to`, `ing`, `participle` are not finite.
        perfect, progressive, modal: `has carried`, `was carrying`, `could carry`.
        negated: with `not`; `contracted`: with `n't` where there is an auxiliary for it.
        inverted: the first auxiliary stands before the subject.
    """

    tense: str = "past"
    perfect: bool = False
    progressive: bool = False
    modal: str = ""
    negated: bool = False
    contracted: bool = False
    inverted: bool = False

    @property
    def finite(self) -> bool:
        """Whether the verb agrees with a subject."""
        return self.tense in ("past", "present")


@dataclass(frozen=True, kw_only=True)
class Clause:
    """A clause before it is inflected.

    Attributes:
        verb: a lemma; `be` with a predicate is the copula.
        subject: what the clause is about; None where it has no subject of its own.
        predicate: head of a copular clause: a noun, an adjective, or a noun with its preposition.
        complements: what stands behind the verb, in order.
        adverbs: what stands between the auxiliaries and the verb.
        fronted: what stands before the subject.
        passive: whether the verb is passive.
        agreement: what the verb agrees with, where the subject does not say.
    """

    verb: str
    subject: Node | Ref | None = None
    predicate: Node | Ref | None = None
    complements: tuple[Edge, ...] = ()
    adverbs: tuple[Edge, ...] = ()
    fronted: tuple[Edge, ...] = ()
    passive: bool = False
    agreement: str = ""
    subject_relation: str = ""

    def plus(self, *edges: Edge) -> "Clause":
        """Return the clause with more behind its verb."""
        return replace(self, complements=self.complements + edges)

    def led(self, *edges: Edge) -> "Clause":
        """Return the clause with more in front of it."""
        return replace(self, fronted=edges + self.fronted)


BE = {"past": ("was", "were"), "present": ("is", "are")}


def finite(verb: str, tense: str, agreement: str) -> str:
    """Return a verb as its subject has it; agreement as in `entities.PRONOUNS`."""
    if verb == "be":
        if agreement == "1":
            return "was" if tense == "past" else "am"
        return BE[tense][agreement in ("p", "2")]
    if tense == "past":
        return forms(verb)["past"]
    return forms(verb)["bare" if agreement in ("p", "1", "2") else "third"]


def chain(clause: Clause, form: Form, agreement: str) -> list[tuple[str, str]]:
    """Return the verbal words of a clause in order, each with its relation; the last is the verb itself."""
    lemmas: list[tuple[str, str]] = []  # the form that each asks of the next is worked out below
    shapes: list[str] = []  # how each word itself is inflected
    shape = form.tense
    if form.modal:
        lemmas.append((form.modal, "aux"))
        shapes.append("fixed")
        shape = "bare"
    if form.perfect:
        lemmas.append(("have", "aux"))
        shapes.append(shape)
        shape = "participle"
    if form.progressive:
        lemmas.append(("be", "aux"))
        shapes.append(shape)
        shape = "ing"
    if clause.passive:
        lemmas.append(("be", "aux:pass"))
        shapes.append(shape)
        shape = "participle"
    lemmas.append((clause.verb, "cop" if clause.predicate is not None else "verb"))
    shapes.append(shape)
    alone = len(lemmas) == 1 and form.finite and clause.verb != "be"
    if alone and (form.negated or form.inverted):
        lemmas.insert(0, ("do", "aux"))
        shapes.insert(0, form.tense)
        shapes[-1] = "bare"
    return [(_inflected(lemma, shape, agreement), relation) for (lemma, relation), shape in zip(lemmas, shapes)]


def _inflected(lemma: str, shape: str, agreement: str) -> str:
    if shape == "fixed":
        return lemma
    if shape in ("past", "present"):
        return finite(lemma, shape, agreement)
    return forms(lemma)["bare" if shape in ("bare", "to") else shape]


def agreement_of(child: Node | Ref | None) -> str:
    """Return what a verb agrees with."""
    if isinstance(child, Ref):
        who: Entity = child.who
        return who.agreement
    return "n"


def build(clause: Clause, form: Form, *, speaker: Entity | None = None, hearer: Entity | None = None) -> Node | Ref:
    """Return a clause as a tree, its verb (or predicate) at the top.

    Args:
        clause: what is said.
        form: how its verb is inflected.
        speaker, hearer: whom `I` and `you` stand for, inside direct speech.
    """
    agreement = clause.agreement or agreement_of(clause.subject)
    if isinstance(clause.subject, Ref) and not clause.agreement:
        agreement = {speaker: "1", hearer: "2"}.get(clause.subject.who, agreement)
    verbs = chain(clause, form, agreement)
    relation = "nsubj:pass" if clause.passive else "nsubj"
    subject: tuple[Edge, ...] = ()
    if clause.subject is not None:
        subject = ((clause.subject_relation or relation, clause.subject),)
    marks: tuple[Edge, ...] = (("mark", word("to", "PART")),) if form.tense == "to" else ()
    *helpers, (main, kind) = verbs
    edges: list[Edge] = [(relation, word(text, "AUX")) for text, relation in helpers]
    adverbs = clause.adverbs
    if kind == "cop":
        if edges:  # "might also be tired", but "was also tired"
            edges += adverbs
            adverbs = ()
        edges.append(("cop", word(main, "AUX")))
    leading: tuple[Edge, ...] = ()
    negation = _negation(form)
    if not form.finite and negation:  # "not to carry"
        marks, negation = negation + marks, ()
    if form.inverted and edges:
        leading = (edges.pop(0), *(negation if form.contracted else ()))
        negation = () if form.contracted else negation
        helping = [*negation, *edges]
    elif edges:
        first, *others = edges
        helping = [first, *negation, *others]
    else:
        helping = list(negation)
    before = (*clause.fronted, *leading, *subject, *marks)
    if kind == "cop":
        assert clause.predicate is not None
        inside = (*before, *helping, *adverbs)
        if isinstance(clause.predicate, Ref):
            predicate = clause.predicate
            return replace(predicate, before=inside + predicate.before, tail=clause.complements)
        return clause.predicate.with_before(*inside).with_after(*clause.complements)
    inside = (*before, *helping, *adverbs)
    return Node(word=main, tag="VERB", before=inside, after=clause.complements)


def _negation(form: Form) -> tuple[Edge, ...]:
    if not form.negated:
        return ()
    if form.contracted and form.finite:
        return (("advmod", word("n't", "PART", glued=True)),)
    return (("advmod", word("not", "PART", glued=form.modal == "can")),)
