"""The parsers of section 5 as trained in the paper's notebook: one sentence at a time, all pairs, Adam 0.002."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from headscope.analyses.probes.tree_sentences import TreeSentence


class PlainProbe(torch.nn.Module):
    """Score one sentence with the attention-and-words parser, or with attention alone without vectors.

    Args:
        heads: number of heads.
        width: width of a vector; 0 for attention alone.
    """

    def __init__(self, heads: int, width: int) -> None:
        super().__init__()
        size = 2 * width or 1
        self.down = torch.nn.Linear(size, heads, bias=width > 0)
        self.up = torch.nn.Linear(size, heads, bias=width > 0)
        for layer in (self.down, self.up):
            torch.nn.init.xavier_uniform_(layer.weight)
        self.first = torch.nn.Parameter(torch.tensor(0.1))
        self.last = torch.nn.Parameter(torch.tensor(0.1))
        self.root = torch.nn.Parameter(torch.zeros(width))

    def forward(self, table: Tensor, vectors: Tensor) -> Tensor:
        """Score the heads of a sentence, `[dependent, 1 + word]`; the table's first two tokens are special."""
        words = table[2:]
        of_root = self.first * table[0] + self.last * table[1]  # from the root to every token
        to_root = self.first * words[:, 0] + self.last * words[:, 1]
        down = torch.cat([of_root[None, 2:], words[:, 2:]])  # [candidate, dependent, head]
        up = torch.cat([to_root[:, None], words[:, 2:]], dim=1).transpose(0, 1)
        size = len(words)
        if vectors.shape[1]:
            candidates = torch.cat([self.root[None], vectors])
            pairs = torch.cat([candidates[:, None].expand(-1, size, -1), vectors[None].expand(size + 1, -1, -1)], dim=2)
        else:
            pairs = torch.ones(1)
        scores = ((self.down(pairs) * down).sum(2) + (self.up(pairs) * up).sum(2)).T
        own = torch.arange(size)
        barred = torch.zeros_like(scores, dtype=torch.bool)
        barred[own, own + 1] = True
        return scores.masked_fill(barred, -torch.inf)


def train_plainly(
    probe: PlainProbe,
    sentences: Sequence[TreeSentence],
    tables: Sequence[Tensor],
    vectors: Sequence[Tensor],
    *,
    order: Sequence[int],
) -> None:
    """Train with one step of Adam per sentence, in the given order."""
    optimizer = torch.optim.Adam(probe.parameters(), lr=0.002)
    for number in order:
        scores = probe(tables[number].float(), vectors[number])
        loss = torch.nn.functional.cross_entropy(scores, torch.from_numpy(sentences[number].heads))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def plain_heads(probe: PlainProbe, table: Tensor, vectors: Tensor) -> np.ndarray:
    """Return the best head of every word."""
    with torch.no_grad():
        return probe(table.float(), vectors).argmax(1).numpy()
