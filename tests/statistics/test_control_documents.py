"""The documents that controls read, and the trained model's sums over the same."""

import numpy as np
import pytest

from headscope.encoding.segment import Segment
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.control_documents import ControlDocuments
from headscope.statistics.sums.kept import counted

EMPTY = np.zeros(0, dtype=np.int64)


class Answers(Accumulator):
    """Counts what it is told."""

    def declare(self):
        return {"n_right": counted(2)}

    def update(self, tile):
        raise NotImplementedError

    def compute(self):
        return self.sums.stacked()["n_right"]


def inputs(documents):
    names = [f"document {number}" for number in range(documents)]
    return [
        Segment(document=name, index=place, ids=EMPTY, token_types=EMPTY, word_ids=EMPTY)
        for name in names
        for place in range(2)
    ]


def counted_in(segments, *, factor=1):
    made = Answers([])
    made.open([])
    for one in segments:
        number = int(one.document.split()[1])
        made.sums.add(one.document, n_right=np.array([1, factor * number], dtype=np.int32))
    return made


@pytest.mark.parametrize(
    ("documents", "least", "most"), [(1, 1, 1), (64, 64, 64), (100, 50, 78), (250, 48, 80), (4000, 900, 1100)]
)
def test_controls_read_whole_documents_about_64_or_a_quarter(documents, least, most):
    segments = inputs(documents)
    read = list(ControlDocuments(documents).segments(segments))
    assert least <= len({one.document for one in read}) <= most
    assert len(read) == 2 * len({one.document for one in read})
    shuffled = np.random.default_rng(0).permutation(len(segments))
    again = ControlDocuments(documents).segments([segments[place] for place in shuffled])
    assert {one.document for one in again} == {one.document for one in read}


@pytest.mark.parametrize("documents", [30, 200, 300, 2000])
def test_both_sides_of_a_difference_are_of_the_same_documents(documents):
    """Whether each document has its sums (30, 200), the trained model's are of groups (300), or both are (2,000)."""
    segments, own = inputs(documents), ControlDocuments(documents)
    trained, control = counted_in(segments), counted_in(own.segments(segments), factor=3)
    same = own.paired(trained, control)
    assert len(control.sums) == len(same.sums) <= 64 or documents == 200
    np.testing.assert_array_equal(control.compute()[:, 0], same.compute()[:, 0])
    np.testing.assert_array_equal(control.compute()[:, 1], 3 * same.compute()[:, 1])
    # The trained model's own are as they were.
    assert trained.compute()[:, 0].sum() == len(segments)
