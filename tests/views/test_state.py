from dataclasses import replace

import numpy as np
import pytest

from headscope.errors import OptionError
from headscope.views.attention_snapshot import AttentionSnapshot, Axis, KindMaps
from headscope.views.bundle import view_names
from headscope.views.state import opening
from support.views import hand_made_view, pair_view, three_kinds_view


def test_the_part_of_an_address():
    assert opening(pair_view(), "head", layer=2) == "view=head&layer=2"
    assert opening(pair_view(), "model", layer=4, heads=(3, 1)) == "view=model&layer=4&heads=1,3"
    assert opening(pair_view(), "heatmap", layer=2, heads=(3,), words=True) == (
        "view=heatmap&layer=2&head=3&level=word"
    )
    assert opening(three_kinds_view(), "matrix", kind="cross", layer=1) == "view=matrix&kind=cross&layer=1"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"name": "lines"}, f"view 'lines' is not known; choose one of {', '.join(view_names())}"),
        ({"layer": 3}, "there is no layer 3 here; choose from 2, 4"),
        ({"heads": (4,)}, "there is no head 4 here; choose from 1-3"),
        ({"kind": "cross"}, "there is no cross attention here; choose one of encoder"),
        ({"name": "neuron", "heads": (1, 2)}, "the neuron view draws one head, and 2 were named; choose one"),
    ],
)
def test_what_is_not_there(given, text):
    with pytest.raises(OptionError) as refused:
        opening(pair_view(), **{"name": "head", **given})
    assert str(refused.value) == text


def test_words_must_be_known():
    assert opening(hand_made_view(), "head", layer=1, words=True) == "view=head&layer=1&level=word"
    with pytest.raises(OptionError) as refused:
        opening(three_kinds_view(), "head", words=True)
    assert str(refused.value) == "words are not known here, only tokens; leave the word level out"


def test_the_head_view_opens_with_the_head_that_attends_most_sharply_within_the_text():
    n = 6
    weights = np.zeros((2, 2, n, n), dtype=np.float32)
    weights[0, 0] = 1 / n  # evenly
    weights[0, 1, :, 0] = 1  # the special token
    weights[1, 0] = np.eye(n)[np.maximum(np.arange(n) - 1, 0)]  # the token before
    weights[1, 1] = np.eye(n)[(np.arange(n) + 3) % n]  # three tokens away
    axis = Axis(tokens=tuple("?abcde"), special=(0,))
    view = AttentionSnapshot(
        title="", model="", kinds=(KindMaps(kind="encoder", weights=weights, queries=axis, layers=(3, 7)),)
    )
    assert opening(view, "head") == "view=head&layer=7&heads=2"
    assert opening(view, "head", heads=(1,)) == "view=head&heads=1"
    assert opening(view, "model") == "view=model"
    # Where heads attend to special tokens and neighbors alone, none is chosen.
    near = replace(view.kinds[0], weights=np.broadcast_to(weights[1, 0], weights.shape))
    assert opening(replace(view, kinds=(near,)), "head") == "view=head"
