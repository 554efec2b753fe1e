"""What heads add to the residual stream, of every family, against sums worked out from the model's own modules."""

import pytest
import torch

from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.model.projections import find_projections
from headscope.attention.output_norms import norm_shares
from headscope.models.forward_inputs import model_inputs
from support.benchmarks import benchmark, families_read
from support.stream_by_hand import additions

# Each other kind of way from the attention to the stream; all families are slow.
QUICK = ("bert", "gpt_neox", "bart", "granite", "gemma2", "bitnet", "laguna", "afmoe", "qwen3_next", "beam", "lfm3")
# No addition to the stream that the block reads: behind the projection is a convolution or a feed-forward block, there
# are several streams, or a narrower one in a bottleneck.
NOT_ADDED = {"gemma3n_text", "glm5_next", "glm5_next_text", "inkling_mm_model", "inkling_text", "mobilebert",
             "qwen4_exp", "qwen4_exp_text", "zamba", "zamba2"}  # fmt: skip
# No single linear map: a rotation, experts, a norm and a gate before it.
NO_PROJECTION = {"deepseek_v4", "jetmoe", "muse_spark_text"}
# What the addition is added to is not what the block reads: normed first; the second attention of a block.
READS_OTHER = {"longcat_flash", "minimax"}
NO_DOUBLE = {"inkling2_text", "zaya"}  # their code knows single precision alone, or keeps the stream in it
WITH_NORM = {"gemma2", "gemma3_text", "olmo2", "olmo3", "exaone4", "glm4", "afmoe", "lfm3", "t5gemma"}
WITH_GATE = {"afmoe": "channel", "qwen3_next": "channel", "laguna": "head", "lfm3": "head"}


class Keep:
    """Keep what a scan of one input gives of every layer."""

    def __init__(self):
        self.tiles = {}

    def begin(self, batch):
        pass

    def update(self, tile):
        self.tiles[tile.kind, tile.layer] = tile

    def end(self, batch):
        pass


def written(model, anatomy, words, segments, *, need_weights=True, **options):
    keep = Keep()
    source = ModelSource(model, anatomy, words, [segments], **options)
    source.run(keep, {"statistics", "written", *(["weights"] if need_weights else [])})
    return keep.tiles


@pytest.mark.parametrize(
    "family",
    [
        pytest.param(each, marks=[] if each in QUICK else pytest.mark.slow)
        for each in families_read("fused", "eager")
        if each not in NO_DOUBLE
    ],
)
def test_parts_of_heads_sum_to_what_the_model_adds(family):
    bench = benchmark("families")
    model = bench.tiny_model(family).double()
    if hasattr(model, "set_experts_implementation"):
        model.set_experts_implementation("eager")  # the others know no double precision
    words = bench.vocabulary(model)
    anatomy = examine(model, words)
    found = find_projections(model, anatomy, words)
    if family in NO_PROJECTION:
        assert set(found.missing.values()) == {"no linear map takes the attention's output"}
        return
    assert not found.missing
    assert {each.in_stream for each in found.layers.values()} == {family not in NOT_ADDED}
    assert {each.after is not None for each in found.layers.values()} == {True} or family not in WITH_NORM
    assert {each.gate for each in found.layers.values()} == {WITH_GATE.get(family)} or family not in WITH_GATE
    segment = bench.made_up(words)[1]
    _, inputs, _ = model_inputs([segment], anatomy, words)
    tiles = written(model, anatomy, words, [segment])
    by_hand = additions(model, anatomy.calls, inputs)
    assert set(by_hand) == set(tiles)
    for place, own in by_hand.items():
        tile = tiles[place]
        streams = own.streams()
        times = 1.0
        if family not in NOT_ADDED:
            assert streams, place  # to 1e-9 of the sum
            times = abs(streams[0][1])
            lengths = torch.stack([stream.norm(dim=-1) for stream, _ in streams])
            near = (lengths - tile.written.stream.double()).abs().amax(1).min()
            assert place[0] == "cross" or family in READS_OTHER or near < 1e-5 * lengths.max()
        else:
            assert tile.written.stream is None
        vectors = own.vectors if family not in NOT_ADDED else own.unnormed
        outputs = times * torch.einsum("hik,hikw->hiw", own.weights, vectors).norm(dim=-1)
        torch.testing.assert_close(tile.written.outputs[0].double(), outputs, rtol=2e-5, atol=2e-6 * outputs.max())
        lengths = times * vectors.norm(dim=-1)
        keys = tile.written.lengths[0] if tile.written.pairs is not None else tile.written.keys[0][:, None]
        scale = 1.0 if tile.written.scale is None else tile.written.scale[0][..., None]
        seen = (own.weights > 0).double()
        torch.testing.assert_close(keys * scale * seen, lengths * seen, rtol=2e-5, atol=2e-6 * lengths.max())
        shares = own.weights * lengths
        torch.testing.assert_close(
            norm_shares(tile.weights, tile.written.lengths)[0],
            shares / shares.sum(-1, keepdim=True),
            rtol=1e-4,
            atol=1e-6,
        )
