"""Effects of the heads of tiny models on made-up segments, and an accumulator that keeps them by segment."""

import torch

from headscope.attention.interventions.effect_source import EffectSource
from headscope.attention.interventions.replacement import Zero
from headscope.attention.model.examination import examine
from headscope.attention.scan import scan
from headscope.encoding.loss_questions import NextToken
from headscope.models.losses import ask_of, loss_of
from support.causal_models import CONFIGS, tiny_causal_model
from support.inputs import made_up_segments, vocabulary
from support.task_models import TAPPED, tiny_task_model, tokenizer_of


class KeepEffects:
    """Keep the effects on every segment: {(document, index, kind, layer): [head, intervention, measure]}."""

    span, needs = "rows", frozenset()

    def __init__(self):
        self.heads, self.layers, self.models, self.sets, self.losses = {}, {}, {}, {}, {}
        self.direct, self.ov_copying = {}, {}
        self.gates, self.attributions = {}, {}

    def begin(self, batch):
        self.names = [(segment.document, segment.index) for segment in batch.segments]

    def update(self, tile):
        if tile.effects.ov_copying is not None:
            self.ov_copying[tile.kind, tile.layer] = tile.effects.ov_copying.tolist()
        for item, name in enumerate(self.names):
            key = (*name, tile.kind, tile.layer)
            if tile.effects.heads is not None:
                self.heads[key] = tile.effects.heads[item].numpy()
            if tile.effects.sets is not None:
                self.sets[name] = tile.effects.sets[item].numpy()
            self.losses[name] = float(tile.effects.loss[item])
            if tile.effects.direct is not None:
                self.direct[key] = tile.effects.direct[item].numpy()
            if tile.effects.gate is not None:
                self.gates[key] = tile.effects.gate[item].numpy()
            if tile.effects.attribution is not None:
                self.attributions[key] = tile.effects.attribution[item].numpy()
            if tile.effects.layer is not None:
                self.layers[key] = tile.effects.layer[item].numpy()
            if tile.effects.model is not None:
                self.models[name] = tile.effects.model[item].numpy()

    def end(self, batch):
        pass


SEGMENTS = made_up_segments(5, seed=11, longest=14, documents=4)
FAMILIES = (*TAPPED, *CONFIGS)
# In double precision, transformers' masks of windows turn padding rows of these families, and then everything else,
# into NaN; expert layers multiply in single precision only.
SINGLE = ("modernbert", "mistral", "gemma2", "gemma3", "mixtral", "qwen3_next")


def source_of(family, *, fits, size=3, segments=SEGMENTS, model=None, **how):
    """Return the source of effects of a family's tiny model, read in batches of `size`."""
    dtype = torch.float32 if family in SINGLE else torch.float64
    if model is None:
        model = (tiny_causal_model if family in CONFIGS else tiny_task_model)(family, dtype=dtype)
    anatomy = examine(model, vocabulary())
    ask = NextToken() if family in CONFIGS else ask_of(loss_of(anatomy), tokenizer_of(family), anatomy)
    groups = [segments[i : i + size] for i in range(0, len(segments), size)]
    return EffectSource(model, anatomy, vocabulary(), groups, ask, fits=fits, fitting=lambda: groups, **how)


def effects(family, **how):
    """Return the source, and the effects of all heads."""
    source, keep = source_of(family, **how), KeepEffects()
    scan(source, [keep])
    return source, keep


def zero(_):
    """Return the intervention that zeroes a head's output."""
    return Zero()
