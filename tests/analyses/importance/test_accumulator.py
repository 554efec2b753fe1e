"""Gradient importance: against plain loops, what cannot occur, its intervals, and the embedded model on real text."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch

from headscope.analyses.importance.compute import (
    KEY_CLASSES,
    MEASURES,
    ImportanceAccumulator,
    importance_differences,
    importance_sums,
    importance_table,
    pair_counts,
)
from headscope.analyses.importance.tables import IMPORTANCE, IMPORTANCE_DIFFERENCES
from headscope.attention.model.examination import examine
from headscope.attention.model.gradients import GradientSource
from headscope.attention.model.segment_source import left_padding_works
from headscope.attention.scan import scan
from headscope.encoding.vocabulary import KeyClass
from headscope.models.losses import ask_of
from headscope.statistics.inference.confidence import difference_interval, ratio_interval
from support.hand_made import HandMadeSource, random_map
from support.inputs import CLS, COMMA, DOT, SEP, made_up_segments, vocabulary
from support.shared_data import data
from support.task_models import tiny_task_model, tokenizer_of

SEGMENTS = made_up_segments(36, seed=4, longest=14, documents=18)


def class_of(token, place, *, first_is_cls=False):
    """The class of a key, from the definition."""
    if token == CLS or (first_is_cls and place == 0):
        return "cls"
    return "sep" if token == SEP else "period_comma" if token in (DOT, COMMA) else "other"


def means_of(segment, weights, gradient, *, causal=False):
    """One head of one segment with plain loops: {(measure, class): mean over pairs}."""
    sums, pairs = {}, {}
    for query in range(len(segment)):
        for key in range(query + 1 if causal else len(segment)):
            name = class_of(int(segment.ids[key]), key)
            w, g = float(weights[query, key]), float(gradient[query, key])
            for measure, value in (("gradient", abs(g)), ("weight_times_gradient", abs(w * g))):
                sums[measure, name] = sums.get((measure, name), 0.0) + value
            pairs[name] = pairs.get(name, 0) + 1
    return {(measure, name): total / pairs[name] for (measure, name), total in sums.items()}


def gate_of(weights):
    """The size of the sum of weight times gradient, over all pairs of a segment."""
    return abs(float((weights * HandMadeSource.gradient_of(torch.from_numpy(weights)).numpy()).sum()))


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize("height", [None, 3])
def test_values_are_those_of_plain_loops(kind, height):
    causal = kind == "decoder"

    def weights(segment):
        return random_map(segment, causal=causal)

    source = HandMadeSource(SEGMENTS, weights, kind=kind, height=height)
    sums = ImportanceAccumulator(source.layout)
    scan(source, [sums])
    (result,) = sums.compute()
    assert result.kind == kind
    for layer in range(2):
        for head in range(3):
            own = [
                means_of(
                    segment,
                    weights(segment)[layer, head],
                    HandMadeSource.gradient_of(torch.from_numpy(weights(segment)[layer, head])),
                    causal=causal,
                )
                for segment in SEGMENTS
            ]
            for m, measure in enumerate(MEASURES):
                for c, name in enumerate(KEY_CLASSES):
                    known = [each[measure, name] for each in own if (measure, name) in each]
                    np.testing.assert_allclose(
                        result.values.value[:, :-1][layer, head, m, c], np.mean(known), rtol=1e-12
                    )
                    assert result.n[layer, c] == len(known)
            gates = [gate_of(weights(segment)[layer, head]) for segment in SEGMENTS]
            np.testing.assert_allclose(result.gate.value[layer, head], np.mean(gates), rtol=1e-12)
    assert result.n_segments.tolist() == [len(SEGMENTS)] * 2
    for values in (result.values.value, result.gate.value):
        np.testing.assert_allclose(values[:, -1], values[:, :-1].mean(1), rtol=1e-12)


def test_a_hand_worked_case():
    """Three tokens, [CLS] word [SEP]; the last row is padding and holds what is no number."""
    weights = torch.tensor([[0.5, 0.25, 0.25, 0.0], [0.0, 1.0, 0.0, 0.0], [0.2, 0.2, 0.6, 0.0], [torch.nan] * 4])
    gradient = torch.tensor([[2.0, -4.0, 1.0, 9.0], [-1.0, 0.5, 0.0, 9.0], [3.0, 0.0, -1.0, 9.0], [torch.nan] * 4])
    pairs = torch.zeros(1, 4, 4, dtype=torch.bool)
    pairs[0, :3, :3] = True
    classes = torch.tensor([[KeyClass.CLS, KeyClass.OTHER, KeyClass.SEP, KeyClass.OTHER]])
    found, gate = importance_sums(weights[None, None], gradient[None, None], pairs, classes)
    assert found.shape == (1, 1, 2, 4)
    np.testing.assert_allclose(found[0, 0, 0], [2 + 1 + 3, 1 + 0 + 1, 0, 4 + 0.5 + 0])
    np.testing.assert_allclose(found[0, 0, 1], [1 + 0 + 0.6, 0.25 + 0 + 0.6, 0, 1 + 0.5 + 0], rtol=1e-6)
    np.testing.assert_allclose(gate, [[1 - 1 + 0.25 + 0 + 0.5 + 0 + 0.6 + 0 - 0.6]], rtol=1e-6)
    assert pair_counts(pairs, classes).tolist() == [[3, 3, 0, 3]]


def test_what_cannot_occur_is_null_with_n_0():
    plain = [replace(s, ids=np.where(np.isin(s.ids, [SEP, DOT, COMMA]), 50, s.ids)) for s in SEGMENTS]
    source = HandMadeSource(plain, random_map)
    sums = ImportanceAccumulator(source.layout)
    scan(source, [sums])
    table = importance_table(sums.compute())
    assert list(table.columns) == IMPORTANCE.names
    gate = table[table["measure"] == "gate"]
    assert (gate["n_inputs"] == len(plain)).all()
    assert gate["value"].notna().all()
    for name, own in table.groupby("key_class"):
        assert (own["n_inputs"] == (0 if name in ("sep", "period_comma") else len(plain))).all()
        for column in ("value", "ci_low", "ci_high"):
            assert own[column].isna().all() == (name in ("sep", "period_comma"))


def test_intervals_are_over_documents():
    source = HandMadeSource(SEGMENTS, random_map)
    sums = ImportanceAccumulator(source.layout)
    scan(source, [sums])
    (result,) = sums.compute()
    documents = sorted({segment.document for segment in SEGMENTS})
    totals, numbers = np.zeros(len(documents)), np.zeros(len(documents))
    for segment in SEGMENTS:
        own = random_map(segment)[1, 2]
        means = means_of(segment, own, HandMadeSource.gradient_of(torch.from_numpy(own)))
        if ("gradient", "period_comma") in means:
            totals[documents.index(segment.document)] += means["gradient", "period_comma"]
            numbers[documents.index(segment.document)] += 1
    own = ratio_interval(totals, numbers, scale="positive")
    expected = [own.low, own.high]
    place = (1, 2, MEASURES.index("gradient"), KEY_CLASSES.index("period_comma"))
    np.testing.assert_allclose(
        [result.values.low[:, :-1][place], result.values.high[:, :-1][place]], expected, rtol=1e-10
    )
    few = HandMadeSource(made_up_segments(9, seed=1), random_map)
    other = ImportanceAccumulator(few.layout)
    scan(few, [other])
    assert np.isnan(other.compute()[0].values.low).all()


def test_differences_are_of_the_same_documents():
    """Each class less other tokens, the mean over a layer's heads, by plain loops; few documents have no bounds."""
    source = HandMadeSource(SEGMENTS, random_map)
    sums = ImportanceAccumulator(source.layout)
    scan(source, [sums])
    results = sums.compute()
    table = importance_differences(results)
    assert list(table.columns) == IMPORTANCE_DIFFERENCES.names
    assert len(table) == 2 * 2 * 3
    assert table["head"].isna().all()
    documents = sorted({segment.document for segment in SEGMENTS})
    for row in table.to_dict("records"):
        # [document, head, class or other]
        totals, numbers = np.zeros((len(documents), 3, 2)), np.zeros((len(documents), 2))
        for segment in SEGMENTS:
            place = documents.index(segment.document)
            for head in range(3):
                own = random_map(segment)[row["layer"] - 1, head]
                means = means_of(segment, own, HandMadeSource.gradient_of(torch.from_numpy(own)))
                for side, name in enumerate((row["key_class"], "other")):
                    if (row["measure"], name) in means:
                        totals[place, head, side] += means[row["measure"], name]
                        numbers[place, side] += head == 0
        mean = totals.mean(1)
        values = mean.sum(0) / numbers.sum(0)
        assert row["difference"] == pytest.approx(values[0] - values[1], rel=1e-10)
        assert row["n_inputs"] == numbers[:, 0].sum()
        bounds = difference_interval(mean[:, :1], numbers[:, :1], mean[:, 1:], numbers[:, 1:])
        assert row["ci_low"] == pytest.approx(bounds.low[0], rel=1e-9)
        assert row["ci_high"] == pytest.approx(bounds.high[0], rel=1e-9)
    few = HandMadeSource(made_up_segments(9, seed=1), random_map)
    other = ImportanceAccumulator(few.layout)
    scan(few, [other])
    left = importance_differences(other.compute())
    assert left["difference"].notna().all()
    assert left[["ci_low", "ci_high"]].isna().all(axis=None)


def test_a_difference_needs_both_classes():
    plain = [replace(s, ids=np.where(np.isin(s.ids, [SEP, DOT, COMMA]), 50, s.ids)) for s in SEGMENTS]
    source = HandMadeSource(plain, random_map)
    sums = ImportanceAccumulator(source.layout)
    scan(source, [sums])
    table = importance_differences(sums.compute())
    cls = table["key_class"] == "cls"
    assert table.loc[cls, ["difference", "ci_low", "ci_high"]].notna().all(axis=None)
    assert table.loc[~cls, ["difference", "ci_low", "ci_high"]].isna().all(axis=None)
    assert (table.loc[~cls, "n_inputs"] == 0).all()


def test_the_table_names_heads_from_1_and_layers_without_a_head():
    source = HandMadeSource(SEGMENTS, random_map)
    sums = ImportanceAccumulator(source.layout)
    scan(source, [sums])
    (result,) = sums.compute()
    table = importance_table([result])
    assert len(table) == 2 * (3 + 1) * (2 * 4 + 1)
    gate = table[(table["measure"] == "gate") & table["key_class"].isna()]
    np.testing.assert_array_equal(gate["value"], result.gate.value.reshape(-1))
    np.testing.assert_array_equal(gate["ci_low"], result.gate.low.reshape(-1))
    row = table[
        (table["layer"] == 2)
        & (table["head"] == 3)
        & (table["measure"] == "weight_times_gradient")
        & (table["key_class"] == "sep")
    ]
    assert row["value"].tolist() == [result.values.value[:, :-1][1, 2, 1, 1]]
    assert row["n_inputs"].tolist() == [result.n[1, 1]]
    mean = table[table["head"].isna() & (table["layer"] == 1) & (table["measure"] == "gradient")]
    assert mean["key_class"].tolist() == list(KEY_CLASSES)
    assert mean["value"].tolist() == result.values.value[:, -1][0, 0].tolist()
    assert mean["ci_high"].tolist() == result.values.high[:, -1][0, 0].tolist()


@pytest.mark.parametrize("family", ["bert", "modernbert", "gpt2", "llama", "gemma2", "t5", "bart"])
def test_batch_size_order_and_padding_do_not_matter(family):
    """End to end in float32, where another batch shape changes the last digits."""
    model, vocab = tiny_task_model(family, dtype=torch.float32), vocabulary()
    anatomy = examine(model, vocab)
    ask = ask_of({"encoder": "mlm", "decoder": "clm"}[anatomy.layout[0].kind], tokenizer_of("bert"), anatomy)
    if anatomy.encoder_decoder:
        ask = ask_of("denoise", tokenizer_of(family), anatomy)

    def table(segments, size, side="right"):
        groups = [segments[i : i + size] for i in range(0, len(segments), size)]
        sums = ImportanceAccumulator(anatomy.layout)
        scan(GradientSource(model, anatomy, vocab, groups, ask, padding_side=side), [sums])
        return importance_table(sums.compute())

    segments = made_up_segments(11, seed=6, longest=15)
    one = table(segments, 1)
    others = [table(segments[::-1], 8)]
    if left_padding_works(model, anatomy, vocab):
        others.append(table(segments, 5, "left"))
    for other in others:
        for column in ("value", "ci_low", "ci_high"):
            np.testing.assert_allclose(other[column], one[column], atol=1e-5, rtol=1e-3)
        assert other["n_inputs"].tolist() == one["n_inputs"].tolist()


@pytest.fixture(scope="module")
def embedded():
    """The embedded model with its head, and 30 pairs of paragraphs of Wikipedia."""
    pytest.importorskip("headscope_minilm", reason="the embedded model's package is not installed")
    from headscope.corpora.reading import read_corpus
    from headscope.encoding.encoder import Encoder
    from headscope.encoding.line_packing import Packer
    from headscope.models.task_heads import load_task_model

    path = data("wiki-sample") / "wiki_sample.txt"
    loaded = load_task_model(None, loss="mlm", device="cpu")
    encoder = Encoder(loaded.tokenizer)
    packer = Packer(encoder, packing="paragraphs", max_length=128, too_long="skip")
    segments = list(islice(packer.pack(read_corpus([path])), 30))
    return loaded, encoder, examine(loaded.model, encoder.vocabulary), segments


# An independent loop over 60 pairs of this text, with masks of its own: layer 2 and layer 5, mean |gradient|.
SEEN = {
    2: {"cls": 0.0019, "sep": 0.0124, "period_comma": 0.0127, "other": 0.0126},
    5: {"cls": 0.0005, "sep": 0.0039, "period_comma": 0.0051, "other": 0.0065},
}


@pytest.mark.slow
def test_the_embedded_model_rests_on_cls_and_the_loss_hardly_depends_on_it(embedded):
    loaded, encoder, anatomy, segments = embedded
    groups = [segments[i : i + 10] for i in range(0, len(segments), 10)]
    ask = ask_of("mlm", loaded.tokenizer, anatomy)
    sums = ImportanceAccumulator(anatomy.layout)
    scan(GradientSource(loaded.model, anatomy, encoder.vocabulary, groups, ask), [sums])
    (result,) = sums.compute()
    assert (result.n == 30).all()
    for layer, expected in SEEN.items():
        for name, value in expected.items():
            found = result.values.value[:, -1][layer - 1, 0, KEY_CLASSES.index(name)]
            # Other masks move it by a few percent; the reference has one digit at its smallest.
            assert abs(found - value) <= 0.15 * value + 0.00005, (layer, name, found)
    cls, other = (result.values.value[:, -1][:, 0, KEY_CLASSES.index(name)] for name in ("cls", "other"))
    assert (other[1:5] > 5 * cls[1:5]).all()


def test_two_pairs_against_retained_gradients(embedded):
    """transformers' own eager weights, kept in torch's graph; one pair at a time, no padding, plain sums."""
    loaded, encoder, anatomy, segments = embedded
    chosen = sorted(segments, key=len)[:2]
    ask = ask_of("mlm", loaded.tokenizer, anatomy, seed=5)
    sums = ImportanceAccumulator(anatomy.layout)
    scan(GradientSource(loaded.model, anatomy, encoder.vocabulary, [chosen], ask), [sums])
    (result,) = sums.compute()
    loaded.model.set_attn_implementation("eager")
    totals = np.zeros((6, 12, 2, 4))
    for segment in chosen:
        question = ask(segment)
        ids = torch.from_numpy(question.segment.ids)[None]
        out = loaded.model(
            input_ids=ids,
            token_type_ids=torch.from_numpy(segment.token_types)[None],
            labels=torch.from_numpy(question.targets)[None],
            output_attentions=True,
        )
        for weights in out.attentions:
            weights.retain_grad()
        out.loss.backward()
        tokens = loaded.tokenizer.convert_ids_to_tokens(ids[0].tolist())
        names = {"[CLS]": "cls", "[SEP]": "sep", ".": "period_comma", ",": "period_comma"}
        keys = np.array([KEY_CLASSES.index(names.get(token, "other")) for token in tokens])
        for layer, weights in enumerate(out.attentions):
            size = weights.grad[0].abs().double().numpy()
            product = size * weights[0].detach().numpy()
            for c in range(4):
                totals[layer, :, 0, c] += size[:, :, keys == c].mean((1, 2))
                totals[layer, :, 1, c] += product[:, :, keys == c].mean((1, 2))
    np.testing.assert_allclose(result.values.value[:, :-1], totals / 2, rtol=1e-3, atol=1e-8)
