"""Left padding is tried, not trusted: every family that it is allowed for gives each input's own numbers."""

import pytest

from headscope.attention.model import segment_source
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.model.segment_source import left_padding_works
from headscope.errors import ModelError
from support.benchmarks import benchmark, families_read

WORKS = ("bert", "gpt2", "llama", "t5", "gemma2", "bloom", "roberta")
# They take position ids, or ask for none, and are wrong all the same: recurrences, fixed blocks, another layout.
WRONG = ("recurrent_gemma", "kosmos-2.5", "nystromformer", "bart")
QUICK = (*WORKS, *WRONG)


@pytest.mark.parametrize(
    "family",
    [
        pytest.param(each, marks=[] if each in QUICK else pytest.mark.slow)
        for each in families_read("fused", "eager", "fallback")
    ],
)
def test_what_is_padded_on_the_left_is_read_as_alone_or_refused(family, monkeypatch):
    bench = benchmark("families")
    model = bench.tiny_model(family)
    words = bench.vocabulary(model)
    anatomy = examine(model, words)
    segments = bench.made_up(words)
    keep = bench._Keep()
    works = left_padding_works(model, anatomy, words)
    # What is found is asked for once more where a source is made.
    monkeypatch.setattr(segment_source, "left_padding_works", lambda *_: works)
    if not works:
        assert family not in WORKS
        with pytest.raises(
            ModelError, match=r"reads an input otherwise when it is padded on the left; pad on the right$"
        ):
            ModelSource(model, anatomy, words, [segments], padding_side="left")
        return
    assert family not in WRONG
    ModelSource(model, anatomy, words, [segments], padding_side="left").run(keep, {"weights", "statistics"})
    for number, segment in enumerate(segments):
        expected = bench.own_weights(model, anatomy, words, segment)
        for part in anatomy.layout:
            for layer, own in enumerate(expected[part.kind]):
                ours = keep.maps[number, part.kind, layer]
                if layer in part.sinks:  # Granite gives weights without its sink
                    ours, own = ours / ours.sum(-1, keepdim=True), own / own.sum(-1, keepdim=True)
                assert float((ours - own).abs().max()) < bench.TOLERANCE, (part.kind, layer)
