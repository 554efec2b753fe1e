"""Each behavior on a head made by hand that does it, and on heads close to it; uniform attention by mask."""

import numpy as np
import pytest

from headscope.analyses.behaviors.catalog import NAMES, NATURAL, SHARES, Delimiter
from headscope.analyses.behaviors.compute import best_table, heads_table
from headscope.analyses.behaviors.sums import BehaviorAccumulator
from headscope.attention.scan import scan
from support.behaving import DELIMITERS, of_ids
from support.hand_made import HandMadeSource

STRETCH = 24
PLAIN = 10  # a full stop: a mark that is no delimiter here
SIGNS = (PLAIN, *(10 + each for each in Delimiter if each))


def repeated(number):
    """Stretches of tokens that differ, each repeated once, one sign of each class among them."""
    rng = np.random.default_rng(0)
    made = []
    for place in range(number):
        own = rng.permutation(np.arange(20, 90))[:STRETCH]
        own[2 : 2 + len(SIGNS)] = SIGNS
        made.append(of_ids(np.concatenate([own, own]), document=f"doc{place}"))
    return made


def at(place):
    return lambda ids, row: place


def back(offset):
    return lambda ids, row: row - offset


def last(sign):
    """The nearest such sign, the row's own place included."""
    return lambda ids, row: max((key for key in range(row + 1) if ids[key] == sign), default=-1)


def from_copy(ahead):
    """Some places behind the token's last earlier copy."""

    def key(ids, row):
        copies = [each for each in range(row) if ids[each] == ids[row]]
        return copies[-1] + ahead if copies else -1

    return key


def sign(delimiter):
    return last(10 + delimiter)


# What it does; what comes close to it and is not it.
CLOSE = {
    "first": (at(0), {"the second token": at(1), "the previous token": back(1)}),
    "local": (back(3), {"four tokens back": back(4), "itself": back(0)}),
    "duplicate": (from_copy(0), {"itself": back(0), "what followed": from_copy(1)}),
    "induction": (
        from_copy(1),
        {"the previous token": back(1), "the copy": from_copy(0), "the second token behind it": from_copy(2)},
    ),
    "previous": (back(1), {"itself": back(0), "two tokens back": back(2)}),
    "newline": (sign(Delimiter.NEWLINE), {"blanks": sign(Delimiter.BLANK), "full stops": last(PLAIN)}),
    "blank": (sign(Delimiter.BLANK), {"line breaks": sign(Delimiter.NEWLINE)}),
    "quote": (sign(Delimiter.QUOTE), {"brackets": sign(Delimiter.BRACKET)}),
    "bracket": (sign(Delimiter.BRACKET), {"quotation marks": sign(Delimiter.QUOTE)}),
    "mark": (sign(Delimiter.MARK), {"full stops": last(PLAIN), "quotation marks": sign(Delimiter.QUOTE)}),
}


def one_key(choose):
    """A map with all of a row's weight on one key that it sees; on the row itself where there is none."""

    def weights(segment):
        ids = segment.ids.tolist()
        out = np.zeros((len(ids), len(ids)))
        for row in range(len(ids)):
            key = choose(ids, row)
            out[row, key if 0 <= key <= row else row] = 1.0
        return out

    return weights


def measured(*heads):
    """The numbers of a layer of decoder heads made by hand."""

    def stacked(segment):
        return np.stack([one_key(choose)(segment) for choose in heads])[None]

    source = HandMadeSource(repeated(20), stacked, kind="decoder")
    sums = BehaviorAccumulator(source.layout, DELIMITERS)
    scan(source, [sums])
    return sums.compute()


def test_every_behavior_has_heads_that_come_close():
    """But `distance`, which is no share, and `retrieval`, which has sums of its own; each has tests of its own, too."""
    assert {*CLOSE, "retrieval"} == {*SHARES}


@pytest.mark.parametrize("name", CLOSE)
def test_the_head_that_does_it_is_told_from_those_that_come_close(name):
    does, others = CLOSE[name]
    result = measured(*others.values(), does)
    table = heads_table(result, [name])
    own = table[table["head"].notna()].set_index("head")
    *close, best = own.to_dict("records")
    assert best["shows"]
    assert best["value"] > 0.9  # of the first rows some see no such key at that place
    for what, row in zip(others, close, strict=True):
        assert not row["shows"], what
        assert row["value"] < 0.1, what
    (chosen,) = best_table(result, [name], seed=0).to_dict("records")
    assert (chosen["head"], chosen["share"], chosen["shows"]) == (len(others) + 1, 1.0, True)
    assert chosen["held_out"] > 0.9


def test_distance_is_counted_in_tokens():
    offsets = (0, 1, 4)
    table = heads_table(measured(*map(back, offsets)), ["distance"])
    own = table[table["head"].notna()].set_index("head")
    length = 2 * STRETCH
    expected = [offset * (length - offset) / length for offset in offsets]
    np.testing.assert_allclose(own["value"], expected, atol=1e-12)
    assert own["shows"].isna().all()


def even(kind):
    """Uniform attention over what a row sees."""

    def weights(segment):
        length = len(segment)
        seen = np.tril(np.ones((length, length))) if kind == "decoder" else np.ones((length, length))
        return (seen / seen.sum(1, keepdims=True))[None, None]

    return weights


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_a_head_that_attends_evenly_does_what_uniform_attention_does_and_shows_nothing(kind):
    source = HandMadeSource(repeated(12), even(kind), kind=kind)
    sums = BehaviorAccumulator(source.layout, DELIMITERS)
    scan(source, [sums])
    table = heads_table(sums.compute(), NATURAL)
    assert (table["n_rows"] > 0).all()
    np.testing.assert_allclose(table["value"], table["uniform"], rtol=1e-12)
    heads = table[table["head"].notna()]
    assert set(heads.loc[heads["behavior"] != "distance", "shows"]) == {False}
    assert table.loc[table["head"].isna(), "shows"].isna().all()


@pytest.mark.parametrize("length", [5, 40])
def test_what_uniform_attention_gives_depends_on_the_mask_and_on_the_place(length):
    """Under a causal mask early rows see few keys: in closed form, for inputs without a copy or a delimiter."""
    number = np.arange(1, length + 1)  # of keys that a decoder's row sees
    expected = {
        "decoder": {
            "first": (1 / number).mean(),
            "previous": (1 / number[1:]).mean(),
            "local": (np.minimum(3, number[1:] - 1) / number[1:]).mean(),
            "distance": ((number - 1) / 2).mean(),
        },
        "encoder": {
            "first": 1 / length,
            "previous": 1 / length,
            "local": (6 * length - 12) / length**2,
            "distance": (length**2 - 1) / (3 * length),
        },
    }
    for kind, values in expected.items():
        segments = [of_ids(np.arange(20, 20 + length), document=f"doc{place}") for place in range(3)]
        source = HandMadeSource(segments, even(kind), kind=kind)
        sums = BehaviorAccumulator(source.layout, DELIMITERS)
        scan(source, [sums])
        (result,) = sums.compute()
        for name, value in values.items():
            np.testing.assert_allclose(result.uniform[0, NAMES.index(name)], value, err_msg=f"{kind} {name}")
