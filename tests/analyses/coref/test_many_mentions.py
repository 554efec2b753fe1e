"""Many mentions in one window or one document: the same numbers as from every pair, in memory that grows with them."""

import time
import tracemalloc

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.analyses.coref.baselines import BASELINES, agreement, baseline_hits, choices, features_of
from headscope.analyses.coref.head_words import MentionWords, rule_agreement
from headscope.analyses.coref.mentions import MENTION_TYPES
from headscope.analyses.coref.sums import ScoredMentions
from headscope.analyses.coref.windows import MentionCounts, coreference_segments
from headscope.attention.word_attention import WordAxis
from headscope.attention.word_rows import WordRows
from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence, Mention
from headscope.corpora.trees.tree import depths
from headscope.encoding.encoder import Encoder
from support.coreference import mention_table, word_tokenizer

WORDS = ("Ann", "she", "the", "queen", "queens", "and", "he", "Ann", "it", "the", "queen", "they")
LETTERS = tuple("abcdefgh")


def table_of(mentions, *, words, allowed=None):
    columns = [np.array([m[i] for m in mentions], dtype=np.int64).reshape(-1) for i in range(5)]
    return mention_table(
        **dict(zip(("starts", "ends", "heads", "entities", "types"), columns)), words=words, allowed=allowed
    )


def every_pair(table):
    """Who is a candidate of whom, `[mention, candidate]`, as the definition says it."""
    at = np.arange(len(table))
    return (at[None] < at[:, None]) & (table.heads[None] < table.heads[:, None]) & table.allowed[None]


def choices_by_pairs(words, table):
    """`baselines.choices` with every pair of mentions in memory."""
    lowered = [word.lower() for word in words]
    strings = np.array([" ".join(lowered[s:e]) for s, e in zip(table.starts, table.ends)], dtype=str)
    heads = np.array([lowered[head] for head in table.heads], dtype=str)
    features, asked = features_of(words, table), table.scored
    pairs = every_pair(table)[asked]

    def rightmost(chosen):
        return np.where(chosen, table.heads, -1).max(axis=1, initial=-1)

    nearest, matched = rightmost(pairs), rightmost(pairs & (heads[asked, None] == heads))
    rules = rightmost(pairs & (strings[asked, None] == strings))
    for sieve in (matched, rightmost(pairs & agreement(features[asked], features)), nearest):
        rules = np.where(rules >= 0, rules, sieve)
    return np.stack([nearest, matched, np.where(matched >= 0, matched, nearest), rules])


MENTIONS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 3), st.integers(0, 2), st.integers(0, 3), st.integers(1, 3)),
    max_size=40,
)


def spread(mentions):
    return [(start, min(12, start + n), min(11, start + h % n), e, t) for start, n, h, e, t in mentions]


@settings(max_examples=150)
@given(MENTIONS, st.integers(0, 3))
def test_candidates_right_words_and_baselines_are_those_of_every_pair(mentions, left_out):
    mentions = spread(mentions)
    allowed = np.array([entity != left_out for *_, entity, _ in mentions], dtype=bool)
    table = table_of(mentions, words=len(WORDS), allowed=allowed)
    pairs = every_pair(table)
    same = table.entities[None] == table.entities[:, None]
    assert table.scored.tolist() == np.flatnonzero((pairs & same).any(1)).tolist()
    for row, place in enumerate(table.scored):
        words = {int(head) for head in table.heads[pairs[place]]}
        assert set(np.flatnonzero(table.candidate_words[row])) == words
        right = {int(head) for head in table.heads[same[place]]} & words
        assert set(np.flatnonzero(table.right_words[row])) == right
    np.testing.assert_array_equal(choices(WORDS, table), choices_by_pairs(WORDS, table))


def rows_of(batch, words):
    """Every word a token: the axes of a batch without special tokens."""
    ids = torch.arange(words).expand(batch, -1)
    axis = WordAxis(words=ids, valid=torch.ones_like(ids, dtype=torch.bool), places=ids, leaders=ids)
    return WordRows(rows=ids, queries=axis, keys=axis)


@settings(max_examples=40)
@given(st.lists(MENTIONS, min_size=1, max_size=4), st.booleans(), st.integers(1, 60), st.integers(0, 99))
def test_hits_are_those_of_a_loop_over_mentions_and_heads(batch, strict, at_once, seed):
    tables = [table_of(spread(mentions), words=12) for mentions in batch]
    if not any(len(table.scored) for table in tables):
        return
    # A third of the weights is 0, so that some mentions have no answer.
    weights = torch.randint(0, 3, (len(tables), 3, 12, 12), generator=torch.Generator().manual_seed(seed)) / 4
    expected = np.zeros((len(tables), 3, len(MENTION_TYPES)), dtype=np.int64)
    for item, table in enumerate(tables):
        for row, (head, kind) in enumerate(zip(table.scored_heads, table.types[table.scored])):
            may = [w for w in range(12) if (w != head if strict else table.candidate_words[row, w])]
            for each in range(3):
                best = max(may, key=lambda word: (float(weights[item, each, head, word]), -word))
                if weights[item, each, head, best] > 0 and table.right_words[row, best]:
                    expected[item, each, [0, kind]] += 1
    mentions = ScoredMentions.of(dict(enumerate(tables)), segments=len(tables), strict=strict)
    queries = mentions.at_places(rows_of(len(tables), 12))

    import headscope.analyses.coref.sums as module

    before, module._WEIGHTS_AT_ONCE = module._WEIGHTS_AT_ONCE, at_once * 36
    try:
        np.testing.assert_array_equal(queries.hits(weights).numpy(), expected)
    finally:
        module._WEIGHTS_AT_ONCE = before


def measured(action):
    """Return what an action gives, its seconds, and the MB that it held at most."""
    tracemalloc.start()
    began = time.perf_counter()
    try:
        return action(), time.perf_counter() - began, tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def test_thirty_thousand_mentions_on_the_same_hundred_words():
    rng = np.random.default_rng(0)
    starts = np.sort(rng.integers(0, 90, size=30_000))
    ends = starts + rng.integers(1, 10, size=30_000)
    words = [f"word{i % 30}" for i in range(100)]

    def table_and_baselines():
        table = mention_table(
            starts=starts,
            ends=ends,
            heads=ends - 1,
            entities=rng.integers(0, 9_000, size=30_000),
            types=rng.integers(1, 4, size=30_000),
            words=100,
        )
        return table, baseline_hits(words, table)

    (table, right), seconds, megabytes = measured(table_and_baselines)
    assert right.shape == (len(BASELINES), len(table.scored))
    assert len(table.scored) > 10_000
    assert megabytes < 60  # every pair: 900 for each of six arrays
    assert seconds < 20
    queries = ScoredMentions.of({0: table}, segments=1, strict=False).at_places(rows_of(1, 100))
    hits = queries.hits(torch.rand(1, 4, 100, 100))
    assert hits.shape == (1, 4, len(MENTION_TYPES))
    assert 0 < int(hits[..., 0].min()) < int(hits[..., 0].max()) < len(table.scored)


def test_a_long_document_goes_by_window():
    words = tuple(LETTERS[i % 8].upper() if i % 3 else LETTERS[i % 8] for i in range(20))
    sentences = tuple(AnnotatedSentence(words=words) for _ in range(80))
    mentions = tuple(Mention(i * 2 // 5, i * 2 // 5 + 1, f"e{i % 70}") for i in range(4_000))
    document = AnnotatedDocument(id="long", sentences=sentences, mentions=mentions)
    encoder = Encoder(word_tokenizer([*LETTERS, *map(str.upper, LETTERS)]))
    counts = MentionCounts()

    def windows():
        return sum(1 for _ in coreference_segments([document], encoder, max_length=422, counts=counts))

    number, seconds, megabytes = measured(windows)
    assert number == counts.windows.windows == 4
    assert counts.mentions == counts.without_antecedent + counts.counted.total() + counts.lost.total() == 4_000
    assert megabytes < 10  # every pair: 16 for each of six arrays
    assert seconds < 30


def test_one_long_name_is_not_held_once_for_every_mention():
    mentions = (Mention(0, 1, "x" * 1_000_000), *(Mention(i % 8, i % 8 + 1, f"e{i % 9}") for i in range(500)))
    document = AnnotatedDocument(id="long", sentences=(AnnotatedSentence(words=LETTERS),), mentions=mentions)
    encoder = Encoder(word_tokenizer(LETTERS))
    made, _, megabytes = measured(lambda: list(coreference_segments([document], encoder, max_length=20)))
    assert len(made) == 1
    assert megabytes < 50  # as an array of names: 2,000


def test_a_chain_of_a_hundred_thousand_words_is_walked_once():
    size = 100_000
    heads = (*range(2, size + 1), 0)
    assert depths(heads) == list(range(size - 1, -1, -1))
    sentence = AnnotatedSentence(words=("word",) * size, heads=heads, relations=("nmod",) * size, tags=("NOUN",) * size)
    document = AnnotatedDocument(id="chain", sentences=(AnnotatedSentence(words=("a",)), sentence))
    (number, _), seconds, megabytes = measured(
        lambda: rule_agreement([AnnotatedDocument(id="c", sentences=(cut(sentence, 1_500),))])
    )
    assert number == 199  # longer ones are no phrases
    assert megabytes < 5  # what hangs below each word: 9
    assert seconds < 20
    assert MentionWords(document).head(Mention(50, 60, "e")) == 59


def cut(sentence, size):
    """The first words of a chain, the last its root."""
    return AnnotatedSentence(
        words=sentence.words[:size],
        heads=(*sentence.heads[: size - 1], 0),
        relations=sentence.relations[:size],
        tags=sentence.tags[:size],
    )
