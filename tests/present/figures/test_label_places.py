"""Names beside marks: clear of marks, of each other and of the page's edge wherever there is room."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.present.figures.label_places import Box, WantedLabel, extent, place_labels

PAGE = Box(0.0, 0.0, 300.0, 200.0)


def test_a_lone_name_stands_right_of_its_mark():
    marks = np.array([[50.0, 60.0]])
    (place,) = place_labels([WantedLabel("abcd", 10.0, marks)], marks, PAGE, reach=5.0)
    wide, high = extent("abcd", 10.0)
    assert (place.box.left, place.box.right) == (55.0, 55.0 + wide)
    assert (place.box.bottom + place.box.top) / 2 == 60.0
    assert place.box.top - place.box.bottom == high
    assert place.side == "left"
    assert place.lead is None


def test_at_the_right_edge_it_stands_left():
    marks = np.array([[295.0, 60.0]])
    (place,) = place_labels([WantedLabel("abcd", 10.0, marks)], marks, PAGE)
    assert place.side == "right"
    assert place.box.right == 290.0


def test_wide_letters_take_more_room():
    assert extent("日本", 10.0)[0] == extent("abcd", 10.0)[0]


def test_in_a_crowd_it_stands_away_with_a_line():
    rng = np.random.default_rng(0)
    crowd = np.array([150.0, 100.0]) + rng.uniform(-17, 17, size=(60, 2))
    (place,) = place_labels([WantedLabel("name", 8.0, crowd[:1])], crowd, PAGE, reach=6.0)
    assert place.lead is not None
    assert place.lead[:2] == tuple(crowd[0])
    x, y = place.lead[2:]
    assert place.box.left <= x <= place.box.right
    assert place.box.bottom <= y <= place.box.top
    assert not any(place.box.meets(Box(*mark, *mark)) for mark in crowd.tolist())


def test_boxes_meet():
    box = Box(0.0, 0.0, 10.0, 10.0)
    assert box.meets(Box(9.0, 9.0, 20.0, 20.0))
    assert not box.meets(Box(10.0, 0.0, 20.0, 10.0))
    assert not box.meets(Box(0.0, 11.0, 10.0, 20.0))


def test_what_has_no_room_is_dropped_if_asked():
    page = Box(0.0, 0.0, 20.0, 10.0)
    marks = np.array([[10.0, 5.0]])
    name = WantedLabel("far too long a name", 10.0, marks)
    assert place_labels([name], marks, page, drop=True) == [None]
    assert place_labels([name], marks, page)[0] is not None


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(1, 8))
def test_names_are_clear_of_each_other_and_of_marks_where_there_is_room(seed, names):
    rng = np.random.default_rng(seed)
    cells = rng.choice(30, size=names, replace=False)
    # Marks lie far from each other on a page with room to spare.
    marks = np.column_stack([70.0 + 140 * (cells % 6), 60.0 + 90 * (cells // 6)])
    wanted = [WantedLabel("name-" + "x" * int(rng.integers(0, 4)), 9.0, marks[[at]]) for at in range(names)]
    found = place_labels(wanted, marks, Box(0.0, 0.0, 900.0, 500.0))
    boxes = [place.box for place in found]
    for at, box in enumerate(boxes):
        assert not any(box.meets(other) for other in boxes[:at])
        assert not any(box.meets(Box(x, y, x, y)) for x, y in marks.tolist())
        assert box.left >= 0
        assert box.right <= 900
