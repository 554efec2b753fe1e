"""Every way in which a table can differ from its schema is refused in words."""

import numpy as np
import pandas as pd
import pytest

from headscope.statistics.tables.frames import check_table
from headscope.statistics.tables.table_schema import Column, TableSchema

SCHEMA = TableSchema(
    name="heads",
    meaning="What heads do.",
    columns=(
        Column("kind", "its kind", "text", choices=("encoder", "cross")),
        Column("head", "its number", "Int64", missing="the mean"),
        Column("n", "how many", "int64", unit="inputs", bounds=(0.0, np.inf)),
        Column("of", "what", "text", missing="everything"),
        Column("value", "how much", unit="share", bounds=(0.0, 1.0), missing="nothing", unless=("of", ("nats",))),
        Column("top", "whether it is first", "bool"),
        Column("tokens", "words", "list of text"),
        Column("weights", "weights", "list of float64"),
        Column("places", "places", "list of int64"),
    ),
    key=("kind", "head"),
)
WHAT_TO_DO = "; change what makes the table, or its schema and with it the version of its stage"


def table(**columns):
    given = {
        "kind": ["encoder", "encoder", "cross"],
        "head": pd.Series([1, None, 1], dtype="Int64"),
        "n": [4, 4, 0],
        "of": ["share", None, "nats"],
        "value": [0.5, np.nan, 3.7],
        "top": [True, False, False],
        "tokens": [["a", "b"], [], np.array(["c"], dtype=object)],
        "weights": [[0.5, 0.5], [], np.array([1.0])],
        "places": [[0, 1], [], np.array([2])],
    }
    return pd.DataFrame(given | columns)


def refused(frame):
    with pytest.raises(ValueError, match="table heads") as error:
        check_table(SCHEMA, frame)
    words = str(error.value)
    assert words.endswith(WHAT_TO_DO)
    return words.removesuffix(WHAT_TO_DO)


def test_a_table_that_fits_passes_and_is_not_changed():
    frame = table()
    before = frame.copy(deep=True)
    check_table(SCHEMA, frame)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("words", [str, "str", object])
def test_words_may_be_strings_or_objects(words):
    check_table(SCHEMA, table().astype({"kind": words}))


def test_what_is_wholly_missing_passes_where_it_may_be_missing():
    nothing = {
        "head": pd.Series([None, 2, 3], dtype="Int64"),
        "of": pd.Series([None] * 3, dtype=object),
        "value": [np.nan] * 3,
    }
    check_table(SCHEMA, table(**nothing))


def test_of_a_table_without_rows_only_the_names_count():
    check_table(SCHEMA, pd.DataFrame(columns=SCHEMA.names))
    assert refused(pd.DataFrame(columns=SCHEMA.names[:-1])) == (
        "table heads: expected the columns kind, head, n, of, value, top, tokens, weights, places; "
        "came kind, head, n, of, value, top, tokens, weights"
    )
    assert refused(pd.DataFrame()).endswith("; came none")


def test_another_order_is_refused():
    frame = table()
    assert refused(frame[["head", "kind", *SCHEMA.names[2:]]]) == (
        "table heads: expected the columns kind, head, n, of, value, top, tokens, weights, places; "
        "came head, kind, n, of, value, top, tokens, weights, places"
    )


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("n", [4.0, 4.0, 0.0], "expected int64, came float64"),
        ("n", pd.Series([4, 4, 0], dtype="Int64"), "expected int64, came Int64"),
        ("n", np.array([4, 4, 0], dtype=np.int32), "expected int64, came int32"),
        ("head", [1.0, np.nan, 1.0], "expected Int64, came float64"),
        ("head", pd.Series([1, None, 1], dtype=object), "expected Int64, came object (integer)"),
        ("value", np.array([0.5, 0.1, 0.2], dtype=np.float32), "expected float64, came float32"),
        ("value", pd.Series([None] * 3, dtype=object), "expected float64, came object (empty)"),
        ("kind", [1, 2, 3], "expected text, came int64"),
        ("of", pd.Series(["a", 2, None], dtype=object), "expected text, came object (mixed-integer)"),
        ("top", [1, 0, 0], "expected bool, came int64"),
        ("tokens", ["a b", "", "c"], "expected list of text, came str"),
        ("weights", [["a"], [], []], "expected list of float64, came object (mixed)"),
        ("places", [[0.5], [], []], "expected list of int64, came object (mixed)"),
        ("places", [[0], [], None], "expected list of int64, came object (mixed)"),
    ],
)
def test_another_type_is_refused(column, values, words):
    assert refused(table(**{column: values})) == f"table heads, column {column}: {words}"


def test_a_missing_value_is_refused_where_none_may_be():
    assert refused(table(kind=["encoder", None, "cross"])) == (
        "table heads, column kind: expected no missing value, came 1, the first in row 1"
    )


def test_a_number_out_of_bounds_is_refused():
    assert refused(table(value=[0.5, 50.0, 3.7])) == (
        "table heads, column value: expected values from 0 to 1, came 50 in row 1"
    )
    assert refused(table(value=[-0.02, 1.0, 3.7])) == (
        "table heads, column value: expected values from 0 to 1, came -0.02 in row 0"
    )
    assert refused(table(value=[0.5, np.inf, 3.7])) == (
        "table heads, column value: expected values from 0 to 1, came inf in row 1"
    )
    assert refused(table(n=[4, -1, 0])) == ("table heads, column n: expected values from 0 on, came -1 in row 1")


def test_weights_in_half_precision_may_sum_to_a_little_more_than_one():
    check_table(SCHEMA, table(value=[1 + 2**-8, 0.0, 3.7]))


def test_a_word_out_of_those_that_are_known_is_refused():
    assert refused(table(kind=["encoder", "encoder", "latent"])) == (
        "table heads, column kind: expected one of encoder, cross; came 'latent' in row 2"
    )


def test_two_rows_of_one_name_are_refused():
    again = table(head=pd.Series([None, None, 1], dtype="Int64"))
    assert refused(again) == ("table heads: expected one row for each kind, head; came another for encoder, none")


def test_a_schema_that_contradicts_itself_is_refused():
    with pytest.raises(ValueError, match="column") as error:
        Column("n", "how many", "int32")
    assert str(error.value) == (
        "column n: expected a dtype out of int64, Int64, float64, bool, boolean, text, list of text, list of float64, "
        "list of int64; came 'int32'"
    )
    one = Column("n", "how many", "int64")
    for columns, key, wrong in (
        ((one, one), ("n",), "twice: n; not a column: none"),
        ((one,), ("m",), "twice: none; not a column: m"),
        ((one, Column("v", "it", unless=("w", ("x",)))), ("n",), "twice: none; not a column: w"),
        ((one,), (), "twice: none; not a column: none"),
    ):
        with pytest.raises(ValueError, match="table") as error:
            TableSchema(name="t", meaning="", columns=columns, key=key)
        assert str(error.value) == (
            f"table t: expected columns of different names, and a key and conditions of them; {wrong}"
        )
