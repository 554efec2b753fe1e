"""The rows that are predicted best and worst of a head: which they are, and what is shown of them."""

import json

import numpy as np
import pytest

from headscope.analyses.explanation.divergences import chosen_examples
from headscope.analyses.explanation.explain import explain
from headscope.analyses.explanation.facts import explanation_cards
from headscope.analyses.explanation.row_context import Tokens
from headscope.analyses.explanation.table_rows import SINK_LOGIT, SINK_NAME, example_records, shown_keys
from headscope.analyses.explanation.tables import BEST, EXPLANATION_EXAMPLES, WEIGHT, WORST
from headscope.present.kinds import kinds_of
from headscope.statistics.tables.frames import check_table
from headscope.views.markup import json_text
from support import mock_inputs
from support.measured import with_parts
from support.mock_explanation import with_explanation
from support.planted_explanations import IDS, NAMES, inputs, planted, sample_of

OF = {"corpus": "text", "kind": "encoder", "layer": 1}
STONE = IDS["stone"]


class NamesOnly:
    """A tokenizer that knows the names of tokens."""

    @staticmethod
    def convert_ids_to_tokens(ids):
        return [NAMES[number] for number in ids]


def attention_of(each):
    """The previous token, but in rows of one word the separator, which no plain feature tells."""
    weights = planted({"previous": 5.0}, each)
    stones = each.tokens.ids[each.rows] == STONE
    weights[stones] = planted({"sep": 5.0}, each)[stones]
    return weights


@pytest.fixture(scope="module")
def sample():
    return sample_of([[attention_of(each) for each in inputs()]])


@pytest.fixture(scope="module")
def head(sample):
    return explain(sample, 1, (WEIGHT,), examples=True)[WEIGHT][0][0]


def divergence(attention, predicted):
    """KL(attention || predicted) of a row, in nats."""
    return sum(a * np.log(a / p) for a, p in zip(attention, predicted, strict=True) if a > 0)


def test_the_rows_are_predicted_as_they_say(sample, head):
    best, *worst = chosen_examples(head.examples)
    assert [each.prediction for each in (best, *worst)] == [BEST, WORST, WORST]
    for each in (best, *worst):
        assert each.left == pytest.approx(divergence(each.attention, each.predicted), abs=1e-6)
        uniform = np.full(len(each.attention), 1 / len(each.attention))
        assert each.to_explain == pytest.approx(divergence(each.attention, uniform))
        assert each.explained == pytest.approx(1 - each.left / each.to_explain)
        assert each.predicted.sum() == pytest.approx(1)
        cells = np.arange(*np.append(sample.starts, len(sample.is_sink))[each.row : each.row + 2])
        np.testing.assert_array_equal(each.cells, cells)
        np.testing.assert_allclose(each.attention, sample.attention(0, 0)[0][cells], rtol=1e-6)
    assert best.explained > 0.9
    assert worst[0].left >= worst[1].left
    assert worst[0].document != worst[1].document


def test_the_row_that_no_feature_tells_is_predicted_worst(sample, head):
    rows = list(
        example_records({"corpus": "text", "kind": "encoder", "layer": 1}, [head], sample=sample, tokenizer=NamesOnly())
    )
    assert [(row["prediction"], row["rank"]) for row in rows] == [(BEST, 1), (WORST, 1), (WORST, 2)]
    check_table(EXPLANATION_EXAMPLES, EXPLANATION_EXAMPLES.frame(rows))
    for row in rows:
        each = inputs()[int(row["document"].removeprefix("document "))]
        assert row["row"] in each.rows
        assert NAMES[each.tokens.ids[row["row"]]] == row["row_token"]
        weights = attention_of(each)[list(each.rows).index(row["row"])]
        np.testing.assert_allclose(row["attention"], weights[row["positions"]], rtol=1e-6)
        assert [NAMES[each.tokens.ids[at]] for at in row["positions"]] == row["tokens"]
        assert int(weights.argmax()) in row["positions"]
        assert row["positions"] == sorted(row["positions"])
        pieces = [row["tokens"][at] for at in row["continues_word"]]
        assert all(piece.startswith("##") for piece in pieces)
    best, *worst = rows
    assert best["row_token"] != "stone"
    for row in worst:
        assert row["row_token"] == "stone"
        assert row["tokens"][int(np.argmax(row["attention"]))] == "[SEP]"
        assert row["tokens"][int(np.argmax(row["predicted"]))] != "[SEP]"


def test_few_documents_have_no_examples():
    few = sample_of([[attention_of(each) for each in inputs()[:5]]], documents=5)
    ((head,),) = explain(few, 1, (WEIGHT,), examples=True)[WEIGHT]
    assert chosen_examples(head.examples) == []


def test_the_keys_around_the_row_and_the_strongest_are_shown_in_whole_words():
    words = np.array([-1, *range(14), 14, 14, *range(15, 31)])
    tokens = Tokens(ids=np.arange(33), classes=np.zeros(33, dtype=int), word_ids=words)
    attention, predicted = np.zeros(34), np.zeros(34)
    attention[[0, 16]] = 0.6, 0.4
    predicted[33] = 1.0
    shown = shown_keys(25, np.arange(34), attention, predicted, tokens)
    # The first token, a word in two pieces, the row with four on either side, and the learned sink behind all.
    assert shown.tolist() == [0, 15, 16, *range(21, 30), 33]
    causal = shown_keys(25, np.arange(26), attention[:26], predicted[:26], tokens)
    assert causal.tolist() == [0, 15, 16, *range(21, 26)]
    across = shown_keys(None, np.arange(33), attention[:33], predicted[:33], tokens)
    assert across.tolist() == [0, 15, 16]


def test_a_learned_sink_has_a_name_and_no_position(sample, head):
    (best, *_) = chosen_examples(head.examples)
    with_sink = {
        **vars(best),
        "cells": np.append(best.cells, best.cells[-1] + 1),
        "attention": np.append(best.attention / 2, 0.5),
        "predicted": np.append(best.predicted, 0.0),
    }
    visible = [cells.copy() for cells in sample.visible]
    for cells in visible:
        cells[:, -1] = True
    seen = type(sample)(**{**vars(sample), "visible": visible})
    changed = type(head)(**{**vars(head), "examples": [type(best)(**with_sink)]})
    (row,) = example_records(
        {"corpus": "text", "kind": "encoder", "layer": 1}, [changed], sample=seen, tokenizer=NamesOnly()
    )
    assert (row["positions"][-1], row["tokens"][-1], row["attention"][-1]) == (SINK_LOGIT, SINK_NAME, 0.5)


def test_a_card_has_what_the_table_has():
    run = with_explanation(mock_inputs.encoder(2, 3))
    (kind,) = kinds_of(run)
    block = json.loads(json_text(explanation_cards(run, kind)))["explanation"]
    words = [drawn for drawn, *_ in block["words"]]
    examples = run.tables["explanation_examples"].to_dict("records")
    assert sum(len(rows) for rows in block["rows"].values()) == len(examples) == 18
    assert set(block["rows"]) == {str(index) for index in range(6)}
    for index, rows in block["rows"].items():
        layer, head = divmod(int(index), 3)
        expected = [row for row in examples if (row["layer"], row["head"]) == (layer + 1, head + 1)]
        for row, other in zip(rows, expected, strict=True):
            assert (row["prediction"], row["explained"]) == (other["prediction"], other["explained"])
            assert (row["attention"], row["predicted"]) == (list(other["attention"]), list(other["predicted"]))
            assert words[row["token"]] == other["row_token"]
            joined = [at for at, number in enumerate(row["words"]) if number < 0]
            assert joined == list(other["continues_word"])
            assert [words[number if number >= 0 else ~number] for number in row["words"]] == list(other["tokens"])
            assert row["gaps"] == [1, 4]
            assert row["at"] == (3 if other["row"] == 9 else -1)


def test_of_many_heads_a_card_has_the_row_predicted_worst():
    run = with_explanation(mock_inputs.encoder(22, 24))
    (kind,) = kinds_of(run)
    rows = explanation_cards(run, kind)["explanation"]["rows"]
    assert {len(of_head) for of_head in rows.values()} == {1}
    assert {row["explained"] for (row,) in rows.values()} == {-0.5}


def test_a_run_that_explained_no_heads_has_no_rows():
    run = mock_inputs.encoder(2, 3)
    assert explanation_cards(run, kinds_of(run)[0]) == {"explanation": None}
    assert explanation_cards(with_parts(run), kinds_of(run)[0]) == {"explanation": None}
