"""The bracket notation of mentions, against spans worked out by hand and an independent writer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.corpora.annotation import MAX_UNMATCHED, AnnotatedDocument, Mention, refusing_unmatched
from headscope.corpora.mentions.brackets import Brackets, match_brackets, mentions_of
from headscope.errors import InputError


def matched(*values: str, **options):
    return mentions_of(values, origins=[f"f.conllu, line {n}" for n in range(1, len(values) + 1)], **options)


def read(*values: str, **options) -> list[tuple[int, int, str]]:
    mentions, unmatched = matched(*values, **options)
    assert unmatched == ()
    return [(one.start, one.end, one.entity) for one in mentions]


def refusal(*values: str, **options) -> str:
    with pytest.raises(InputError) as refused:
        read(*values, **options)
    return str(refused.value)


def test_a_mention_of_several_words_and_one_of_a_single_word():
    assert read("(e1-person-1-coref", "", "e1)", "(e2-place)") == [(0, 3, "e1"), (3, 4, "e2")]


def test_nested_mentions_come_longer_first():
    assert read("(e1-person(e2-place)", "(e3", "e3)e1)") == [(0, 3, "e1"), (0, 1, "e2"), (1, 3, "e3")]


def test_crossing_mentions():
    assert read("(e1", "(e2", "e1)", "e2)") == [(0, 3, "e1"), (1, 4, "e2")]


def test_of_two_open_mentions_of_one_entity_the_later_closes_first():
    assert read("(e1-person-1", "(e1-person-2", "e1)", "e1)") == [(0, 4, "e1"), (1, 3, "e1")]


def test_a_closing_bracket_may_come_before_an_opening_one_and_repeat_the_fields():
    assert read("(e1-person", "e1-person)(e1-person", "e1)") == [(0, 2, "e1"), (1, 3, "e1")]


def test_no_value_is_no_mention():
    assert read("", "", "") == []
    assert read() == []


def test_fields_may_hold_colons_stars_and_commas():
    assert read("(e12-object-giv:act-s-cf1*-2,3-ana-Emory_University", "e12)") == [(0, 2, "e12")]


def test_the_declared_order_says_where_the_id_stands():
    old = "entity-GRP-infstat-MIN-coref_type-identity"
    assert read("(person-97-giv:inact-1,3-coref", "97)(time-175-new-1-sgl)", declared=old) == [
        (0, 2, "97"),
        (1, 2, "175"),
    ]
    assert read("(person-97", "person-97)", declared="entity-GRP") == [(0, 2, "97")]
    assert read("(e1-person)", declared="eid-etype-head-other") == [(0, 1, "e1")]


def test_a_mention_in_parts_is_taken_whole():
    assert read("(e5[1/2]-place-1-", "e5[1/2])", "", "(e5[2/2]-place-1-)") == [(0, 4, "e5")]
    assert read("(e5[1/3])", "(e6)", "(e5[2/3])", "", "(e5[3/3]", "e5[3/3])") == [(0, 6, "e5"), (1, 2, "e6")]


def test_two_mentions_of_one_entity_in_parts():
    values = ["(e5[1/2])", "", "(e5[2/2])", "(e5[1/2])", "(e5[2/2])"]
    assert read(*values) == [(0, 3, "e5"), (3, 5, "e5")]


def test_brackets_at_empty_nodes():
    """The nodes are 1, 1.1, 2, 3, 3.1; the words 1, 2, 3."""
    empty = [False, True, False, False, True]
    assert read("", "(e1", "", "e1)", "", empty=empty) == [(1, 3, "e1")]  # opens at 1.1, so at word 2
    assert read("(e1", "", "", "", "e1)", empty=empty) == [(0, 3, "e1")]  # closes at 3.1, so after word 3
    assert read("(e1", "e1)", "", "", "", empty=empty) == [(0, 1, "e1")]
    assert read("", "(e1)", "", "", "(e2)", empty=empty) == []  # these mentions have no word


@pytest.mark.parametrize(
    ("values", "mentions", "faults", "remedy"),
    [
        (
            ["(e1", "e2)", "e1)"],
            [(0, 3, "e1")],
            ["line 2: e2) closes a mention that is not open"],
            "open it before with (e2 or remove the bracket",
        ),
        (
            ["(e1)", "e1)", "(e2)e1)"],
            [(0, 1, "e1"), (2, 3, "e2")],
            [f"line {n}: e1) closes a mention that is not open" for n in (2, 3)],
            "open it before with (e1 or remove the bracket",
        ),
        (
            ["(e3)", "(e1-person", "(e2", "e2)"],
            [(0, 1, "e3"), (2, 4, "e2")],
            ["line 2: the mention (e1 is never closed"],
            "close it with e1) at its last word",
        ),
        (  # of two open mentions of one entity, the later closes
            ["(e1", "(e1", "e1)"],
            [(1, 3, "e1")],
            ["line 1: the mention (e1 is never closed"],
            "close it with e1) at its last word",
        ),
        (  # faults are in the order of the words, whichever was found first
            ["(e1(e2)", "e3)", "(e4"],
            [(0, 1, "e2")],
            [
                "line 1: the mention (e1 is never closed",
                "line 2: e3) closes a mention that is not open",
                "line 3: the mention (e4 is never closed",
            ],
            "close it with e1) at its last word",
        ),
        (
            ["(e1[2/2])", "(e1)"],
            [(1, 2, "e1")],
            ["line 1: part 2 of 2 of a mention of e1 is out of order"],
            "number the parts of a mention in order, from [1/2] to [2/2]",
        ),
        (  # both halves are dropped; the complete mention of the same entity stays
            ["(e1[1/3])", "(e1[3/3])", "(e1[1/2])", "(e1[2/2])"],
            [(2, 4, "e1")],
            [
                "line 1: the mention of e1 with a part 1 of 3 has no part 2",
                "line 2: part 3 of 3 of a mention of e1 is out of order",
            ],
            "add it, or take the numbers in square brackets away",
        ),
        (
            ["", "(e1[1/2])", "(e2)"],
            [(2, 3, "e2")],
            ["line 2: the mention of e1 with a part 1 of 2 has no part 2"],
            "add it, or take the numbers in square brackets away",
        ),
    ],
)
def test_what_matches_nothing_is_left_out_alone_and_named(values, mentions, faults, remedy):
    found, unmatched = matched(*values, document="essay")
    assert [(one.start, one.end, one.entity) for one in found] == mentions
    named = [f"f.conllu, {fault}".replace(":", " (document essay):", 1) for fault in faults]
    assert [str(one) for one in unmatched] == named
    document = AnnotatedDocument(id="d", sentences=(), mentions=found, unmatched=unmatched)
    with pytest.raises(InputError) as refused:
        list(refusing_unmatched([document]))
    assert str(refused.value) == f"f.conllu, {faults[0]}; {remedy}"


def test_a_document_without_a_name_is_known_by_its_line():
    _, (one,) = matched("e1)")
    assert str(one) == "f.conllu, line 1: e1) closes a mention that is not open"


def test_a_corpus_whose_brackets_match_passes_as_it_is():
    documents = [AnnotatedDocument(id=name, sentences=()) for name in "ab"]
    assert list(refusing_unmatched(documents)) == documents


def test_beyond_ten_thousand_it_is_no_slip():
    assert len(matched("e1)" * MAX_UNMATCHED).unmatched) == MAX_UNMATCHED
    for value in ("e1)" * (MAX_UNMATCHED + 1), "(e1" * (MAX_UNMATCHED + 1)):
        with pytest.raises(InputError, match=r"^f\.conllu, line 1: .*after 10,000 brackets of this document"):
            matched(value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            ["", "e1"],
            "f.conllu, line 2: expected brackets of mentions such as (1, 1) or (1), found e1; mend or remove them",
        ),
        (
            ["(e1)e2"],
            "f.conllu, line 1: expected brackets of mentions such as (1, 1) or (1), found (e1)e2; mend or remove them",
        ),
        (
            ["()"],
            "f.conllu, line 1: a bracket without an entity's id in (); write the id after the opening bracket, "
            "as in (1)",
        ),
        (
            ["(e1)", "(-person)"],
            "f.conllu, line 2: a bracket without an entity's id in (-person); write the id after the opening "
            "bracket, as in (1)",
        ),
        (
            ["(e1", ")"],
            "f.conllu, line 2: a bracket without an entity's id in ); write the id after the opening bracket, "
            "as in (1)",
        ),
    ],
)
def test_what_is_no_brackets_is_refused(values: list[str], message: str):
    assert refusal(*values) == message


def test_a_declaration_without_ids_is_refused():
    assert refusal("", "(person)", declared="etype-identity") == (
        "f.conllu, line 2: the brackets have no entity ids: # global.Entity = etype-identity names neither eid "
        "nor GRP; give a corpus with coreference"
    )


def test_an_id_without_its_field_is_refused():
    assert refusal("(person)", declared="etype-eid") == (
        "f.conllu, line 1: a bracket without an entity's id in (person); write the id after the opening bracket, "
        "as in (1)"
    )


def test_what_errors_quote_is_printable_and_short():
    assert "found \\x1b[2J; mend" in refusal("\x1b[2J")
    assert f"found {'x' * 80}...; mend" in refusal("x" * 1000)


def test_values_and_origins_go_together():
    with pytest.raises(ValueError, match="shorter"):
        mentions_of(["(e1)", ""], origins=["line 1"])


def test_brackets_of_2012_stand_between_bars():
    places = [
        Brackets(start=at, end=at + 1, value=value, origin="")
        for at, value in enumerate(["(0|(12)|(3", "0)", "3)|(0)"])
    ]
    assert match_brackets(places).mentions == (
        Mention(0, 3, "3"),
        Mention(0, 2, "0"),
        Mention(0, 1, "12"),
        Mention(2, 3, "0"),
    )


@st.composite
def nested(draw) -> tuple[int, list[tuple[int, int, str]]]:
    """Spans in which no two of one entity cross, since brackets cannot express crossing."""
    size = draw(st.integers(1, 12))
    spans: list[tuple[int, int, str]] = []
    for _ in range(draw(st.integers(0, 8))):
        start = draw(st.integers(0, size - 1))
        end = draw(st.integers(start + 1, size))
        entity = draw(st.sampled_from("abc"))
        same = [(first, last) for first, last, other in spans if other == entity]
        crosses = any(start < first < end < last or first < start < last < end for first, last in same)
        # if one began at the word where the other ends, the closing bracket would be ambiguous
        crosses = crosses or any(start == last - 1 or first == end - 1 for first, last in same)
        if not crosses and (start, end, entity) not in spans:
            spans.append((start, end, entity))
    return size, spans


@given(nested(), st.sampled_from(["", "|"]))
def test_what_is_written_is_read_again(case: tuple[int, list[tuple[int, int, str]]], bar: str):
    size, spans = case
    values = []
    for at in range(size):
        marks = [f"{e}{')'}" for s, n, e in sorted(spans, key=lambda x: -x[0]) if n == at + 1 and s < at]
        marks += [f"({e}" for s, n, e in sorted(spans, key=lambda x: -x[1]) if s == at and n > at + 1]
        marks += [f"({e})" for s, n, e in spans if (s, n) == (at, at + 1)]
        values.append(bar.join(marks))
    places = [Brackets(start=a, end=a + 1, value=v, origin="") for a, v in enumerate(values) if v]
    found = [(one.start, one.end, one.entity) for one in match_brackets(places).mentions]
    assert found == sorted(spans, key=lambda x: (x[0], -x[1], x[2]))
