"""A consumer of a stream that keeps the tiles."""


class KeptTiles:
    """Keep every tile, in order."""

    def __init__(self):
        self.tiles = []

    def begin(self, batch):
        pass

    def update(self, tile):
        self.tiles.append(tile)

    def end(self, batch):
        pass
