"""An accumulator that keeps the effects of heads on each segment."""


class KeepEffects:
    """Keep the effects on every segment: {(document, index, kind, layer): [head, intervention, measure]}."""

    span, needs = "rows", frozenset()

    def __init__(self):
        self.heads, self.layers, self.models, self.sets, self.losses = {}, {}, {}, {}, {}
        self.direct, self.ov_copying = {}, {}

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
            if tile.effects.layer is not None:
                self.layers[key] = tile.effects.layer[item].numpy()
            if tile.effects.model is not None:
                self.models[name] = tile.effects.model[item].numpy()

    def end(self, batch):
        pass
