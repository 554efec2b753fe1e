import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.present.figures.style import LONGEST_LABEL, cells, label, shorten, visible


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("word", "word"),
        ("", "⟨empty⟩"),
        ("\u200b", "⟨U+200B⟩"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("\u2028", "⟨U+2028⟩"),
        ("\x00\x07", "⟨U+0000⟩⟨U+0007⟩"),
        ("a\nb\tc\r", "a⏎b⇥c␍"),
        ("  ", "␣␣"),
        ("👩‍👧", "👩‍👧"),
        ("\u200dx", "⟨U+200D⟩x"),
        ("\ud800", "⟨U+D800⟩"),
        ("e" + "\u0301" * 40, "e" + "\u0301" * 4),
    ],
)
def test_visible(token, shown):
    assert visible(token) == shown


def test_wide_characters_take_two_columns_and_marks_none():
    assert cells("日本") == 4
    assert cells("e\u0301") == 1


def test_shorten_keeps_what_fits_and_ends_with_an_ellipsis():
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abcdefg", 6) == "abcde…"
    assert shorten("日本語テキスト", 6) == "日本…"


def test_a_token_of_5000_characters_is_drawn_short():
    assert label("x" * 5000) == "x" * (LONGEST_LABEL - 1) + "…"


@given(st.text(max_size=60))
def test_labels_are_short_and_hold_nothing_invisible(token):
    drawn = label(token)
    assert drawn
    assert cells(drawn) <= LONGEST_LABEL
    assert not [c for c in drawn if unicodedata.category(c) in {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}]
    assert not [c for c in drawn if unicodedata.category(c) == "Cf" and c not in "\u200c\u200d"]
