"""Path patching and pairs of sources against hooks in plain transformers."""

from types import SimpleNamespace

import headscope_decoder
import numpy as np
import pytest
import torch
import transformers as tf

from headscope.analyses.why.parts import Source
from headscope.analyses.why.patching import PatchSource, PatchTile
from headscope.attention.interventions.intervention import halves_of
from headscope.attention.model.examination import examine
from headscope.attention.scan import scan
from headscope.encoding.encoder import Encoder
from headscope.encoding.vocabulary import KeyClass

TEXTS = (
    "The cat sat on the mat. The cat slept.",
    "A dog came by, and the dog left, and nobody saw the dog again.",
    "Rain fell on the town. The town was wet.",
    "She sold sea shells by the sea shore.",
)
LAYER, HEAD = 1, 7
FROM_HEAD, FROM_MLP = Source("head", "decoder", 0, 0), Source("mlp", "decoder", 0)
QUERY_HEAD = Source("head", "decoder", 0, 1)


class Kept:
    """Keep the patches of the head of every input."""

    needs, span = frozenset({"patches"}), "rows"

    def __init__(self):
        self.patches = []

    def begin(self, batch):
        pass

    def update(self, tile):
        if tile.layer == LAYER:
            assert isinstance(tile, PatchTile)
            names = ("moved", "pairs", "pull")
            self.patches.append(SimpleNamespace(**{name: getattr(tile, name)[0] for name in names}))

    def end(self, batch):
        pass


@pytest.fixture(scope="module")
def model():
    folder = str(headscope_decoder.folder())
    return tf.AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


@pytest.fixture(scope="module")
def encoder():
    return Encoder(tf.AutoTokenizer.from_pretrained(str(headscope_decoder.folder())))


@pytest.fixture(scope="module")
def segments(encoder):
    return [
        encoder.segment(*encoder.pieces([text]), document=f"document {index}", index=0)
        for index, text in enumerate(TEXTS)
    ]


@pytest.fixture(scope="module")
def patches(model, encoder, segments):
    """The patches of head 2-8: two sources of its keys and one of its queries."""
    anatomy = examine(model, encoder.vocabulary)
    nothing = [((), ())] * 8
    chosen = {("decoder", layer): list(nothing) for layer in range(4)}
    chosen["decoder", LAYER][HEAD] = ((QUERY_HEAD,), (FROM_HEAD, FROM_MLP))
    source = PatchSource(
        model, anatomy, encoder.vocabulary, [segments], chosen=lambda: chosen, fitting=lambda: segments, most=2
    )
    kept = Kept()
    scan(source, [kept])
    return kept.patches


def parts_read(model, ids):
    """Return what the second layer reads of a head, of an MLP and of another head, by hooks; the norm is frozen."""
    block, found = model.layers[0], {}
    width = model.config.hidden_size // model.config.num_attention_heads
    handles = [
        block.self_attn.o_proj.register_forward_pre_hook(lambda _, read: found.__setitem__("z", read[0])),
        block.mlp.register_forward_hook(lambda _, read, out: found.__setitem__("mlp", out)),
        model.layers[LAYER].register_forward_pre_hook(lambda _, read: found.__setitem__("stream", read[0])),
    ]
    with torch.no_grad():
        weights = model(ids, output_attentions=True).attentions[LAYER][0, HEAD]
    for handle in handles:
        handle.remove()
    stream, norm = found["stream"], model.layers[LAYER].input_layernorm
    scale = torch.rsqrt(stream.pow(2).mean(-1, keepdim=True) + norm.variance_epsilon) * norm.weight

    def of_head(head):
        columns = slice(head * width, (head + 1) * width)
        return (found["z"][..., columns] @ block.self_attn.o_proj.weight[:, columns].T * scale)[0].detach()

    return weights, {FROM_HEAD: of_head(0), QUERY_HEAD: of_head(1), FROM_MLP: (found["mlp"] * scale)[0].detach()}


def test_patching_agrees_with_hooks_in_plain_transformers(model, encoder, segments, patches):
    halves = halves_of([segment.document for segment in segments])
    read = [parts_read(model, torch.from_numpy(segment.ids)[None]) for segment in segments]
    classes = [encoder.vocabulary.of(segment.ids, decoder=True) for segment in segments]
    attention = model.layers[LAYER].self_attn
    wrong = []
    for index, (segment, (weights, parts)) in enumerate(zip(segments, read, strict=True)):
        others = [other for other, each in enumerate(segments) if halves[each.document] != halves[segment.document]]
        for side, number, source, module in (
            (0, 0, QUERY_HEAD, attention.q_proj),
            (1, 0, FROM_HEAD, attention.k_proj),
            (1, 1, FROM_MLP, attention.k_proj),
        ):
            pool = torch.cat([read[other][1][source] for other in others])
            of_class = torch.from_numpy(np.concatenate([classes[other] for other in others]))
            change = torch.zeros_like(parts[source])
            for row, row_class in enumerate(classes[index]):
                same = pool[of_class == int(row_class)]
                change[row] = (same if len(same) else pool).mean(0) - parts[source][row]
            handle = module.register_forward_hook(
                lambda own, _, out, change=change: out + (change @ own.weight.T)[None]
            )
            with torch.no_grad():
                after = model(torch.from_numpy(segment.ids)[None], output_attentions=True).attentions[LAYER][0, HEAD]
            handle.remove()
            expected = float((after - weights).abs().sum(-1).mean() / 2)
            came = float(patches[index].moved[HEAD, side, number])
            if abs(expected - came) > 1e-6:
                wrong.append((index, source, expected, came))
    assert not wrong
    assert all(float(each.moved[HEAD, 1, 0]) > 0.05 for each in patches)  # something moves
    assert all(each.moved[:HEAD].isnan().all() for each in patches)  # nothing else was replaced


def test_a_pair_is_the_product_of_its_parts(model, encoder, segments, patches):
    attention, width = model.layers[LAYER].self_attn, model.config.hidden_size // 8
    group = HEAD * model.config.num_key_value_heads // 8
    for segment, found in zip(segments, patches, strict=True):
        ids = torch.from_numpy(segment.ids)[None]
        weights, parts = parts_read(model, ids)
        cos, sin = model.rotary_emb(torch.zeros(1, 1, 1), torch.arange(ids.shape[1])[None])

        def turned(vectors, cos=cos, sin=sin):
            half = width // 2
            return vectors * cos[0] + torch.cat((-vectors[:, half:], vectors[:, :half]), -1) * sin[0]

        query = turned(parts[QUERY_HEAD] @ attention.q_proj.weight[HEAD * width : (HEAD + 1) * width].T)
        counted = torch.ones_like(weights).tril().bool()
        counted &= torch.from_numpy(encoder.vocabulary.of(segment.ids, decoder=True) != KeyClass.CLS)[None]
        counted &= counted.sum(1, keepdim=True) > 1
        for number, source in enumerate((FROM_HEAD, FROM_MLP)):
            key = turned(parts[source] @ attention.k_proj.weight[group * width : (group + 1) * width].T)
            scores, total, mass = query @ key.T * width**-0.5, 0.0, 0.0
            for row in range(len(weights)):
                seen = counted[row]
                if seen.any():
                    attended = weights[row][seen] / weights[row][seen].sum()
                    pull = ((attended - 1 / seen.sum()) * scores[row][seen]).sum()
                    total += float(pull * weights[row][seen].sum())
                    mass += float(weights[row][seen].sum())
            assert float(found.pairs[HEAD, 0, number]) == pytest.approx(total / mass, abs=2e-5)
    assert np.sign([float(each.pairs[HEAD, 0, 0]) for each in patches]).all()


def test_a_single_document_takes_its_own_mean(model, encoder, segments):
    anatomy = examine(model, encoder.vocabulary)
    chosen = {("decoder", layer): [((), (FROM_HEAD,) if layer else ())] * 8 for layer in range(4)}
    source = PatchSource(
        model, anatomy, encoder.vocabulary, [segments[:1]], chosen=lambda: chosen, fitting=lambda: segments[:1], most=1
    )
    kept = Kept()
    scan(source, [kept])
    assert 0 < float(kept.patches[0].moved[HEAD, 1, 0]) < 1
