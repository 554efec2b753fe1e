"""The columns of the fit against a plain loop, and the kinds of words that they are made of."""

import numpy as np
import pytest
import torch

from headscope.analyses.explanation import words
from headscope.analyses.explanation.catalog import FEATURES
from headscope.analyses.explanation.columns import Columns
from headscope.analyses.explanation.features import ATTENDING, OFFSETS, SINK_LOGIT, TOKENS
from headscope.analyses.explanation.row_block import RowBlock
from headscope.analyses.explanation.vocabulary_facts import COMPONENTS, VocabularyFacts, principal_components
from headscope.encoding.vocabulary import KeyClass
from support.planted_explanations import (
    IDS,
    NAMES,
    NOUNS,
    VERBS,
    context,
    counts,
    explained,
    inputs,
    values,
    vocabulary,
)

RNG = np.random.default_rng(5)
EMBEDDINGS = torch.tensor(RNG.normal(size=(len(NAMES), 40)), dtype=torch.float32)
SPECIAL = [IDS["[CLS]"], IDS["[SEP]"]]


def facts(embeddings=EMBEDDINGS):
    made = VocabularyFacts.of_names(dict(enumerate(NAMES)), special=SPECIAL)
    return VocabularyFacts(
        texts=made.texts, delimiters=made.delimiters, log_frequency=made.log_frequency, embeddings=embeddings
    ).with_counts(counts())


def plain_features():
    return [feature for feature in FEATURES.values() if feature.needs <= {"same_axis"}]


def test_every_column_is_its_product():
    known, each = facts(), inputs()[3]
    columns = Columns(
        features=plain_features(), token_ids=np.array([IDS["."], IDS["not"]]), sink=True, kinds=True, square=True
    )
    cells = RNG.random((len(each.rows), len(each.tokens) + 1)) < 0.5
    rows = context(each, cells[:, :-1], trees=False, facts=known)
    features, of_rows = columns.compute(rows, cells)
    block = RowBlock(  # each cell is a row of its own
        features=features, visible=np.ones((cells.sum(), 1), bool), rows=np.arange(cells.sum()),
        cells=np.arange(cells.sum())[:, None], facts=of_rows[np.nonzero(cells)[0]], products=columns.products,
    )  # fmt: skip
    computed = block.dense()
    assert computed.shape == (cells.sum(), columns.width)
    assert max(part.stop for part in columns.groups.values()) == columns.width
    ids, number = each.tokens.ids, len(each.tokens)
    plain = {name: values(name, rows) for name in FEATURES if FEATURES[name].needs <= {"same_axis"}}
    kinds = known.kinds(ids)
    queries = words.query_facts(rows)
    for index, (row, key) in enumerate(zip(*np.nonzero(cells), strict=True)):
        if key == number:
            assert computed[index, columns.groups[SINK_LOGIT]] == 1
            assert not computed[index, 1:].any()
            continue
        query, before = kinds[each.rows[row]], kinds[key - 1] if key else np.zeros(COMPONENTS)
        features = {name: float(table[row, key]) for name, table in plain.items()}
        near, located, varied = (
            [features[name] for name in names] for names in (words.NEAR_FEATURES, words.LOCATED, words.VARIED)
        )
        expected = {
            SINK_LOGIT: [0.0],
            TOKENS: [ids[key] == IDS["."], ids[key] == IDS["not"]],
            words.KINDS: kinds[key] * (ids[key] not in SPECIAL),
            words.AFTER: before,
            words.NEARBY: np.outer(kinds[key][: words.NEAR], near).ravel(),
            words.PAIRS: np.outer(query[: words.PAIRED], kinds[key][: words.PAIRED]).ravel(),
            words.PAIRS_AFTER: np.outer(query[: words.PAIRED_AFTER], before[: words.PAIRED_AFTER]).ravel(),
            ATTENDING: np.concatenate(
                [np.outer(queries[row], varied).ravel(), np.outer(query[: words.PAIRED], located).ravel()]
            ),
        }
        for group, part in columns.groups.items():
            wanted = expected.get(group, [features[name] for name in columns.names(group)])
            np.testing.assert_allclose(computed[index, part], wanted, rtol=1e-5, atol=1e-5, err_msg=group)


def test_no_cells_have_no_columns_to_fill():
    each = inputs()[0]
    columns = Columns(features=plain_features(), token_ids=np.zeros(0, int), sink=False, kinds=True, square=True)
    cells = np.zeros((len(each.rows), len(each.tokens) + 1), bool)
    features, of_rows = columns.compute(context(each, cells[:, :-1], trees=False, facts=facts()), cells)
    assert features.shape == (0, columns.stored)
    assert of_rows.shape == (len(each.rows), columns.facts)


def test_positions_come_first():
    columns = Columns(features=plain_features()[::-1], token_ids=np.zeros(0, int), sink=True, kinds=False, square=True)
    inside = [group for group, part in columns.groups.items() if part.stop <= columns.positions.stop]
    assert set(inside) == {SINK_LOGIT, *OFFSETS}
    assert set(columns.groups) == {SINK_LOGIT, ATTENDING, *(feature.group for feature in plain_features())}


def test_without_embeddings_or_with_other_queries_their_groups_are_absent():
    across = [feature for feature in plain_features() if not feature.needs]
    columns = Columns(features=across, token_ids=np.zeros(0, int), sink=False, kinds=True, square=False)
    assert not {ATTENDING, words.PAIRS, words.PAIRS_AFTER, SINK_LOGIT, TOKENS} & set(columns.groups)
    assert {words.KINDS, words.AFTER} <= set(columns.groups)


def test_facts_on_the_attending_token_are_what_a_loop_finds():
    each = inputs()[1]
    # Nothing is known of the frequency of a token that does not occur in the sample, such as a hidden word.
    seen = counts() * (np.arange(len(NAMES)) != each.tokens.ids[each.rows[3]])
    visible = np.ones((len(each.rows), len(each.tokens)), bool)
    rows = context(each, visible, trees=False, facts=vocabulary().with_counts(seen))
    found, tokens = words.query_facts(rows), each.tokens
    logs = np.log(np.maximum(seen, 1) * 1e6 / seen.sum())
    for index, row in enumerate(each.rows.tolist()):
        name, kind = NAMES[tokens.ids[row]], tokens.classes[row]
        after = tokens.word_ids[row + 1] if row + 1 < len(tokens) else None
        assert found[index, 0] == (name == "[CLS]")
        assert found[index, 1] == (name == "[SEP]")
        assert found[index, 2] == (kind == KeyClass.PERIOD_COMMA)
        assert found[index, 3] == name.startswith("##")
        times = seen[tokens.ids[row]]
        expected = logs[tokens.ids[row]] - seen @ logs / seen.sum() if times else 0.0
        assert found[index, 4] == pytest.approx(expected, abs=1e-6)
        assert found[index, 5] == (tokens.word_ids[row] >= 0 and tokens.word_ids[row] != after)
        text = "" if name.startswith("[") else name.removeprefix("##")
        assert found[index, 6] == pytest.approx(np.log1p(len(text)))


def test_components_are_those_of_the_singular_values():
    table = EMBEDDINGS.double().numpy()
    weights = counts() / counts().sum()
    found = principal_components(EMBEDDINGS, counts().astype(float))
    center = weights @ table
    _, sizes, right = np.linalg.svd(np.sqrt(weights)[:, None] * (table - center), full_matrices=False)
    for column in range(COMPONENTS):
        expected = (table - center) @ right[column] / sizes[column]
        expected *= np.sign(right[column][np.abs(right[column]).argmax()])
        np.testing.assert_allclose(found[:, column], np.clip(expected, -4, 4), atol=1e-4)
    np.testing.assert_allclose(weights @ found, 0, atol=0.05)
    wide = principal_components(torch.tensor(RNG.normal(size=(len(NAMES), 26))), counts().astype(float))
    assert wide.shape == (len(NAMES), COMPONENTS)
    assert principal_components(EMBEDDINGS[:, :20], counts().astype(float)) is None


def test_special_tokens_have_components_and_ids_without_an_embedding_none():
    """Only the group of kinds of words is 0 on special tokens, which have groups of their own."""
    known = facts()
    assert known.components[SPECIAL].any(1).all()
    np.testing.assert_array_equal(known.kinds(np.array(SPECIAL)), known.components[SPECIAL])
    assert not known.kinds(np.array([-1, 10**6])).any()


@pytest.fixture(scope="module")
def kinds_of_words():
    """Embeddings in which verbs are alike, and nouns, each kind with a direction of its own."""
    table = 0.3 * np.random.default_rng(5).normal(size=(len(NAMES), 40))
    for direction, names in ((0, VERBS), (1, NOUNS)):
        table[[IDS[name] for name in names], direction] += 6.0
    return torch.tensor(table, dtype=torch.float32)


def softmax(logits):
    weights = np.exp(logits - logits.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


def head_of_nouns():
    """A head that attends to nouns."""
    return [softmax(np.tile(3.0 * are(each, NOUNS), (len(each.rows), 1))) for each in inputs()]


def head_of_pairs():
    """A head whose verbs attend to nouns; its nouns do not attend to verbs."""
    return [softmax(4.0 * (are(each, VERBS)[each.rows][:, None] & are(each, NOUNS))) for each in inputs()]


def are(each, names):
    return np.isin(each.tokens.ids, [IDS[name] for name in names])


def quoted(names):
    return {f"“{name}”" for name in names}


@pytest.mark.slow
def test_kinds_of_words_are_found_and_named(kinds_of_words):
    heads = [head_of_nouns(), head_of_pairs()]
    (of_nouns, nouns), (of_pairs, pairs) = explained(heads, facts=facts(kinds_of_words))
    assert of_nouns["explained"] > 0.95
    assert nouns[words.KINDS] > 0.8
    named = of_nouns["sentence"].partition("words like ")[2].partition(" (")[0]
    assert set(named.split(", ")) <= quoted(NOUNS)
    assert of_pairs["explained"] > 0.95
    assert pairs[words.PAIRS] > 0.8
    # Keys are named first; the other way around the sentence would speak of a head whose nouns attend to verbs.
    keys, _, queries = of_pairs["sentence"].partition(" (")[0].partition(" from words like ")
    assert set(keys.removeprefix("Attends to words like ").split(", ")) <= quoted(NOUNS)
    assert set(queries.split(", ")) == quoted(VERBS)


@pytest.mark.slow
def test_shuffled_embeddings_explain_no_pairs_of_words(kinds_of_words):
    """The control: the same directions, with the kinds dealt out among the words at random."""
    rng = np.random.default_rng(3)
    noise = [softmax(rng.normal(size=(len(each.rows), len(each.tokens)))) for each in inputs()]
    of_words = {words.KINDS, words.AFTER, words.NEARBY, words.PAIRS, words.PAIRS_AFTER}
    for seed in range(3):
        order = torch.tensor(np.random.default_rng(seed).permutation(len(NAMES)))
        of_pairs, of_noise = explained([head_of_pairs(), noise], facts=facts(kinds_of_words[order]))
        # Eight components of a vocabulary of 28 tokens tell some verbs from nouns, however they are dealt out.
        assert of_pairs[0]["explained"] < 0.4
        assert of_pairs[1].get(words.PAIRS, 0.0) < 0.2
        assert of_noise[0]["explained"] < 0.02
        assert not of_words & set(of_noise[1])
