"""Documents: which sentence follows which, and how a finished one looks."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from random import Random

from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence, Mention
from headscope_grammar.cast.scene import Scene
from headscope_grammar.phrases.common import Tree
from headscope_grammar.sentences import asking, comparing, embedding, joining, linking, speaking, special, statements
from headscope_grammar.tree import sentence_of

SENTENCES: tuple[tuple[Callable[[Scene], Tree], float], ...] = (
    (statements.plain_sentence, 9.0),
    (statements.short_sentence, 1.5),
    (linking.long_sentence, 1.2),
    (embedding.that_clause, 2.0),
    (embedding.telling, 0.9),
    (embedding.indirect_question, 0.9),
    (embedding.intending, 2.0),
    (embedding.seeming, 0.8),
    (embedding.gerund_object, 0.8),
    (embedding.requesting, 1.2),
    (embedding.perceiving, 0.7),
    (embedding.resulting, 0.6),
    (linking.because, 1.6),
    (linking.at_a_time, 1.6),
    (linking.condition, 0.8),
    (linking.purpose, 1.0),
    (linking.participle, 1.2),
    (linking.so_that, 0.6),
    (statements.together, 1.2),
    (statements.reflexive, 0.5),
    (statements.each_other, 0.3),
    (joining.two_verbs, 1.8),
    (joining.two_clauses, 1.8),
    (joining.semicolon, 0.8),
    (joining.several_things, 1.0),
    (joining.remark, 0.7),
    (joining.quantified, 0.6),
    (joining.contact, 1.2),
    (speaking.statement, 1.8),
    (speaking.command, 0.9),
    (asking.question, 1.6),
    (asking.tag_question, 0.6),
    (speaking.opinion, 0.6),
    (special.existential, 1.3),
    (special.inversion, 0.4),
    (special.never_before, 0.3),
    (special.cleft, 0.5),
    (special.what_cleft, 0.4),
    (special.extraposed, 0.9),
    (special.clausal_subject, 0.8),
    (comparing.comparison, 0.8),
    (comparing.compared_things, 0.4),
    (comparing.exclamation, 0.35),
    (comparing.measured, 0.5),
    (statements.naming, 1.5),
    (statements.according, 0.4),
    (statements.instead, 0.4),
    (statements.cup_of, 0.4),
    (statements.passive_with_adverb, 0.5),
)
"""Every kind of sentence, with how often it is tried."""

OPENINGS = (statements.plain_sentence, embedding.that_clause, embedding.intending, linking.at_a_time, joining.two_verbs)
LENGTHS = range(3, 41)


@dataclass(frozen=True, kw_only=True)
class Written:
    """A generated document and the names of the constructions in each of its sentences."""

    document: AnnotatedDocument
    constructions: tuple[tuple[str, ...], ...]


def write(*, seed: int, ordinal: int) -> Written:
    """Return the document with an ordinal; it depends on seed and ordinal only."""
    attempt = 0
    while True:
        rng = Random(f"{seed}/{ordinal}/{attempt}")
        written = _attempt(rng, ordinal)
        if written is not None:
            return written
        attempt += 1


def _attempt(rng: Random, ordinal: int) -> Written | None:
    scene = Scene(rng)
    sentences: list[AnnotatedSentence] = []
    mentions: list[Mention] = []
    constructions: list[tuple[str, ...]] = []
    offset = 0
    count = rng.choice((3, 4, 4, 5, 5, 6, 6, 7, 8))
    done: set[object] = set()
    while len(sentences) < count:
        scene.begin(len(sentences), final=len(sentences) == count - 1)
        make = rng.choice(OPENINGS) if not sentences else _choice(rng, done)
        tree = make(scene)
        if tree is None:
            continue
        resolved = scene.speaker.resolve(tree)
        sentence, found = sentence_of(resolved, origin=f"document {ordinal + 1}", offset=offset)
        if len(sentence) not in LENGTHS:
            return None
        scene.end()
        done.add(make)
        sentences.append(sentence)
        mentions += found
        constructions.append(tuple(scene.used))
        offset += len(sentence)
    if not _chains(mentions):
        return None
    words = tuple(word for sentence in sentences for word in sentence.words)
    document = AnnotatedDocument(
        id=_document_id(words, ordinal),
        sentences=tuple(sentences),
        mentions=tuple(sorted(mentions, key=lambda mention: (mention.start, -mention.end, mention.entity))),
        origin=f"document {ordinal + 1}",
    )
    return Written(document=document, constructions=tuple(constructions))


def _document_id(words: tuple[str, ...], ordinal: int) -> str:
    """Return the name that the document has in the files that are written."""
    digest = blake2b(ordinal.to_bytes(8, "little"), digest_size=8)
    digest.update("\x1f".join(words).encode("utf-8"))
    return digest.hexdigest()


def _choice(rng: Random, done: set[object]) -> Callable[[Scene], Tree]:
    """Draw a kind of sentence; one that the document has already comes a third as often."""
    weights = [
        weight / (3 if make in done and make is not statements.plain_sentence else 1) for make, weight in SENTENCES
    ]
    return rng.choices([make for make, _ in SENTENCES], weights)[0]


def _chains(mentions: list[Mention]) -> bool:
    """Tell whether two entities at least are mentioned twice."""
    names = [mention.entity for mention in mentions]
    return len({name for name in names if names.count(name) > 1}) >= 2
