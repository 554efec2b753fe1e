import math

import pytest

from headscope.present.numbers import amount, interval, interval_decimals, percent, table_number
from headscope.present.words import capital, count, either, join, layer_list, words_for


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.979, "98%"), (0.1, "10%"), (0.0995, "10%"), (0.0994, "9.9%"), (0.0171, "1.7%"), (0.0001, "under 0.1%"),
     (0.0, "0%"), (1.0, "100%"), (0.0005, "0.1%")],
)  # fmt: skip
def test_percent(share, words):
    assert percent(share) == words


@pytest.mark.parametrize(
    ("low", "high", "statistic", "words"),
    [(0.971, 0.982, "cls", "97 to 98"), (0.9761, 0.9789, "cls", "97.6 to 97.9"), (0.0101, 0.0148, "cls", "1.0 to 1.5"),
     (3.851, 3.868, "entropy", "3.85 to 3.87"), (math.nan, math.nan, "cls", "")],
)  # fmt: skip
def test_interval(low, high, statistic, words):
    assert interval(low, high, statistic) == words


@pytest.mark.parametrize(
    ("low", "high", "decimals"),
    [(0.971, 0.982, 0), (0.9771, 0.9774, 1), (0.09, 0.15, 1), (0.0995, 0.15, 0), (0.5, 0.5, 1)],
)
def test_decimals_of_an_interval(low, high, decimals):
    assert interval_decimals(low, high) == decimals


def test_amounts_and_table_numbers():
    assert amount(0.5, "cls") == "50%"
    assert amount(0.5, "cls", 1) == "50.0%"
    assert amount(3.857, "entropy", 1) == "3.86 nats"
    assert amount(3.857, "entropy") == "3.86 nats"
    assert table_number(0.9734, "previous") == "97.3"
    assert table_number(3.857, "entropy") == "3.86"
    assert table_number(math.nan, "entropy") == "–"


def test_lists():
    assert join(["a"]) == "a"
    assert join(["a", "b", "c"]) == "a, b and c"
    assert layer_list([3]) == "layer 3"
    assert layer_list([2, 3, 4, 5]) == "layers 2 to 5"
    assert layer_list([2, 3, 6]) == "layers 2, 3 and 6"
    assert layer_list([2, 3]) == "layers 2 and 3"
    assert layer_list([2, 3, 6], most=3) == "layers 2, 3 and 6"
    assert layer_list([2, 3, 6, 8, 9], most=3) == "layers 2, 3, 6 and 2 more"
    assert layer_list([2, 3, 4, 5, 6], most=3) == "layers 2 to 6"


def test_counts_and_capitals():
    assert count(1, "head") == "1 head"
    assert count(3072, "head") == "3,072 heads"
    assert capital("[CLS]") == "[CLS]"
    assert capital("the first token") == "The first token"


def test_special_tokens_take_the_models_names():
    def words(model):
        return words_for({"signature": {"model": model}})

    assert words({}).statistics["sep_to_sep"] == "[SEP] to [SEP]"
    assert words({"special": {"cls": "<s>", "sep": "</s>"}}).roles["cls"] == "<s>"
    assert words({"special": {"cls": None, "sep": None}}).statistics["entropy_cls"] == "entropy from the first token"


def test_alternatives():
    assert [either(list(names)) for names in ("", "a", "ab", "abc")] == ["", "a", "a or b", "a, b or c"]
