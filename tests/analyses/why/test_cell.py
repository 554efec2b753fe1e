"""The sources of a single score sum to it, and the messages for what cannot be decomposed."""

from dataclasses import replace

import headscope_decoder
import headscope_minilm
import numpy as np
import pytest
import torch
import transformers as tf

from headscope.analyses.why.cell import bars, position_of, text_sources
from headscope.app.one_text import read_text
from headscope.errors import HeadscopeError

TEXT = "The cat sat on the mat. The dog saw it."


def plain_scores(folder, layer, head, group_of=lambda head: head):
    """Return the scores of a head above the mean of each row, from plain transformers' own weights."""
    model = tf.AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    ids = tf.AutoTokenizer.from_pretrained(folder)(TEXT, return_tensors="pt").input_ids
    with torch.no_grad():
        weights = model(ids, output_attentions=True).attentions[layer][0, head].double()
    return weights, weights.log()


@pytest.mark.parametrize(("package", "head"), [(headscope_decoder, "3-7"), (headscope_minilm, "4-6")])
def test_sources_sum_to_the_score(package, head):
    folder = str(package.folder())
    layer, number = (int(part) - 1 for part in head.split("-"))
    weights, logs = plain_scores(folder, layer, number)
    wrong, read = [], read_text(TEXT, model=folder)
    for query, key in ((6, 3), (9, 8), (4, 4)):
        found = text_sources(read, head=head, query=str(query + 1), key=str(key + 1))
        visible = slice(0, query + 1) if package is headscope_decoder else slice(None)
        # The logarithms of weights are the scores, but for a constant of the row.
        expected = float(logs[query, key] - logs[query, visible].mean())
        sums = found.sources.groupby("side")["nats"].sum()
        for name, value in {"score": found.above_mean, **sums.to_dict()}.items():
            if abs(value - expected) > 1e-3:
                wrong.append((query, key, name, value, expected))
        assert found.weight == pytest.approx(float(weights[query, key]), abs=1e-5)
        assert np.abs(found.sources["nats"]).max() > 0
    assert not wrong


def test_the_induction_head_reads_the_previous_token_head():
    text = "The quick brown fox saw a dog. The quick brown fox ran."
    found = text_sources(read_text(text, model="headscope-decoder"), head="2-8", query="14", key="5")
    first = found.sources.groupby("side").head(1).set_index("side")["source"]
    assert first.to_dict() == {"query": "1-2", "key": "1-1"}
    assert found.weight > 0.9


def test_messages():
    cases = {
        ("2-9", "cat", "sat"): "the model has no head 2-9; it has 4 layers of 8 decoder heads",
        ("two", "cat", "sat"): "--head: 'two' is not a head; expected layer-head from 1, as 8-10 or cross 8-10",
        ("cross 2-8", "cat", "sat"): "--head: headscope-decoder has no cross attention, only decoder",
        ("2-8", "horse", "sat"): "--query: the text has no token 'horse'; its tokens are 1:",
        ("2-8", "cat", "."): "--key: '.' is at positions ",
        ("2-8", "2", "9"): "token 2 does not see token 9 in head 2-8; choose one of the 2 tokens that it sees, as 2",
    }
    wrong, read = [], read_text(TEXT, model="headscope-decoder")
    for (head, query, key), message in cases.items():
        try:
            list(bars(read, head=head, query=query, key=key))
        except HeadscopeError as error:
            if not str(error).startswith(message):
                wrong.append((message, str(error)))
        else:
            wrong.append((message, "no error"))
    assert not wrong


def test_a_number_is_a_token_before_it_is_a_position():
    read = read_text("In 2 days the cat saw the dog.", model="headscope-decoder")
    _, keys = read.axes("decoder")
    assert keys.tokens[position_of("2", keys, "key")].strip() == "2"
    with pytest.raises(HeadscopeError, match=r"'the' is at positions"):
        position_of("the", keys, "key")
    last = str(len(keys.tokens))
    assert position_of(last, keys, "key") == len(keys.tokens) - 1
    same = replace(keys, tokens=("5", "a", "b", "c", "5"), words=(), word_text=(), special=(), unknown=())
    assert position_of("5", same, "key") == 4  # the token at this position is one of those with this text
