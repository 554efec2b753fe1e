"""What a run says of itself while it goes on."""

import pytest

from headscope.app.cli.progress_lines import describe, duration
from headscope.prepare.progress import Progress


@pytest.mark.parametrize(
    ("progress", "line"),
    [
        (
            Progress("reading heads", 30, 120, 700, None, 10.0),
            "reading heads: 30 of 120 documents, 700 inputs, 3.0 documents/s, 30 s left",
        ),
        (
            Progress("reading heads", 1_500, None, 2_000, None, 100.0),
            "reading heads: 1,500 documents, 2,000 inputs, 15.0 documents/s",
        ),
        (Progress("reading heads", 0, 120, 16, None, 5.0), "reading heads: 0 of 120 documents, 16 inputs"),
        (
            Progress("structural probe", 0, None, 3, 9, 60.0, "probes"),
            "structural probe: 3 of 9 probes, 0.1 probes/s, 2 min left",
        ),
        (
            Progress("vectors of train", 0, None, 2_304, None, 8.0, "sentences"),
            "vectors of train: 2,304 sentences, 288.0 sentences/s",
        ),
    ],
)
def test_a_state_in_one_line(progress, line):
    assert describe(progress) == line


def test_times():
    assert [duration(seconds) for seconds in (89.4, 90.0, 7_140.0, 7_500.0)] == [
        "89 s",
        "2 min",
        "119 min",
        "2 h 5 min",
    ]
