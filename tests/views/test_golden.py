"""The payloads on file are those that the code writes, so that the scripts' tests read today's schema."""

import json

import numpy as np
import pytest

from support.golden_views import FOLDER, VIEWS, golden, read


def without_bytes(told):
    """The payload without its arrays: another zlib, or another processor's exp, may write other bytes."""
    for kind in told["kinds"]:
        for layer in [*kind["maps"], *(kind["neuron"] or {"layers": ()})["layers"]]:
            del layer["data"]
    return told


@pytest.mark.parametrize("name", VIEWS)
def test_the_file_is_what_is_written(name):
    on_file, now = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")), golden(name)
    for one, other in zip(on_file["read"], now["read"], strict=True):
        np.testing.assert_allclose(one["weights"], other["weights"], atol=1e-6)
        for left, right in zip(one["neuron"], other["neuron"], strict=True):
            for part in left:
                assert (left[part] is None) == (right[part] is None)
                if left[part] is not None:
                    np.testing.assert_allclose(left[part], right[part], atol=1e-2)  # half precision
    told = without_bytes(on_file["payload"])
    assert told.pop("largest_error") == pytest.approx(now["payload"].pop("largest_error"), rel=0.02)
    assert told == without_bytes(now["payload"])


@pytest.mark.parametrize("name", VIEWS)
def test_what_is_read_is_what_the_file_says(name):
    on_file = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    for kind, expected in zip(on_file["payload"]["kinds"], on_file["read"]):
        assert read(kind) == expected


def test_the_view_by_hand_in_numbers():
    told = json.loads((FOLDER / "by-hand.json").read_text(encoding="utf-8"))["read"][0]["weights"]
    np.testing.assert_allclose(told[0][0], [[1, 0, 0], [1, 0, 0], [0, 1, 0]])
    np.testing.assert_allclose(told[0][1], [[0.75 * (147 / 255) ** 2, 0, 0.75]] * 3, atol=1e-7)
