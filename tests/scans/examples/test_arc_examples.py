"""Examples to draw: hand-made sentences, who is right, which are clearest, and of which documents."""

from dataclasses import replace

import numpy as np
import pytest

from headscope.analyses.coref.mentions import FIELD, coreference_questions
from headscope.analyses.syntax.compute import syntax_questions
from headscope.analyses.syntax.tables import SYNTAX_BEST
from headscope.attention.scan import scan
from headscope.encoding.segment import Segment
from headscope.scans.examples.arc_examples import ArcExamples, WantedHead, wanted_heads
from headscope.scans.examples.example_tables import ARC_EXAMPLES
from support.coreference import mention_table
from support.hand_made import HandMadeSource
from support.inputs import CLS, SEP
from support.stand_ins import stand_in
from support.trees import between, tied_map, tree_segments

# [CLS] the old cat saw a dog [SEP]: `cat` is cut in two.
WORDS = ("the", "old", "cat", "saw", "a", "dog")
WORD_IDS = [-1, 0, 1, 2, 2, 3, 4, 5, -1]
HEADS = [3, 3, 4, 0, 6, 4]
RELATIONS = ["det", "amod", "nsubj", "root", "det", "obj"]
THE, OLD, CAT, SAW, A, DOG = range(1, 7)  # places of the words
DET = WantedHead("det", "encoder", 1, 1, "dependent->head")


def sentence(document="d", index=0, *, words=WORDS, word_ids=WORD_IDS, heads=HEADS, relations=RELATIONS):
    ids = np.array([CLS, *range(10, 8 + len(word_ids)), SEP])
    return Segment(
        document=document,
        index=index,
        ids=ids,
        token_types=np.zeros_like(ids),
        word_ids=np.array(word_ids),
        words=words,
        fields={"heads": heads, "relns": relations},
    )


def looking(answers, *, weight=0.8, word_ids=WORD_IDS):
    """A map in which the tokens of a place give `weight` to the tokens of another, the rest to all evenly."""
    places, _ = between(np.zeros((len(word_ids),) * 2), word_ids, "mean")
    table = np.full((len(word_ids),) * 2, (1 - weight) / len(word_ids))
    for query, key in answers.items():
        for token in places[query]:
            table[token, places[key][0]] += weight
    return table[None, None]


def examples(segments, weights, *wanted, ask=None, **source):
    keep = ArcExamples(wanted or (DET,), ask or syntax_questions(), special=("<s>", "</s>"))
    scan(HandMadeSource(segments, weights, **source), [keep])
    return keep.table()


def test_an_example_of_success_worked_by_hand():
    table = looking({THE: CAT, A: DOG})
    (row,) = examples([sentence()], lambda _: table).to_dict("records")
    assert list(row) == ARC_EXAMPLES.names
    assert {name: row[name] for name in ARC_EXAMPLES.names[:6]} == {**vars(DET), "outcome": "right"}
    assert (row["document"], row["segment"]) == ("d", 0)
    assert row["tokens"] == ["<s>", *WORDS, "</s>"]
    assert (row["queries"], row["keys"], row["predicted"]) == ([THE, A], [CAT, DOG], [CAT, DOG])
    _, words = between(table[0, 0], WORD_IDS, "mean")
    np.testing.assert_allclose(np.reshape(row["weights"], (8, 8)), words, atol=1e-6)
    # A word in two pieces gets what both get.
    assert row["value"] == pytest.approx((0.8 + 2 * 0.2 / 9 + 0.8 + 0.2 / 9) / 2, abs=1e-6)


def test_one_wrong_arc_makes_a_failure():
    (row,) = examples([sentence()], lambda _: looking({THE: OLD, A: DOG})).to_dict("records")
    assert row["outcome"] == "wrong"
    assert (row["queries"], row["keys"], row["predicted"]) == ([THE, A], [CAT, DOG], [OLD, DOG])
    assert row["value"] == pytest.approx((2 * 0.2 / 9 + 0.8 + 0.2 / 9) / 2, abs=1e-6)


def test_the_other_direction_is_drawn_from_the_head():
    up = replace(DET, direction="head->dependent")
    (row,) = examples([sentence()], lambda _: looking({CAT: THE, SAW: A, DOG: OLD}), up).to_dict("records")
    assert row["outcome"] == "wrong"
    # Queries are the heads `cat` and `dog`; `saw` looked at `a` instead of `dog`.
    assert (row["queries"], row["keys"], row["predicted"]) == ([CAT, DOG], [THE, A], [CAT, SAW])
    (row,) = examples([sentence()], lambda _: looking({CAT: THE, DOG: A}), up).to_dict("records")
    assert (row["outcome"], row["queries"], row["keys"]) == ("right", [CAT, DOG], [THE, A])


def test_special_tokens_and_the_word_itself_are_no_answers_and_ties_go_left():
    table = looking({THE: CAT, A: DOG}, weight=0.3)
    table[0, 0, 1, [0, 1]] += 0.3, 0.3
    (row,) = examples([sentence()], lambda _: table).to_dict("records")
    assert row["outcome"] == "right"
    even = np.full((1, 1, 9, 9), 1 / 9)
    (row,) = examples([sentence(word_ids=[-1, 0, 1, 2, 3, 4, 5, -1])], lambda _: even[..., :8, :8]).to_dict("records")
    assert row["predicted"] == [OLD, THE]


# cat 's old tail fell down
OWNER = {
    "words": ("cat", "'s", "old", "tail", "fell", "down"),
    "word_ids": [-1, 0, 1, 2, 3, 4, 5, -1],
    "heads": [4, 1, 4, 5, 0, 5],
    "relations": ["poss", "possessive", "amod", "nsubj", "root", "advmod"],
}


def test_the_clitic_answers_for_the_possessor():
    poss = replace(DET, relation="poss")
    table = looking({1: 5, 2: 4}, word_ids=OWNER["word_ids"])
    (row,) = examples([sentence(**OWNER)], lambda _: table, poss).to_dict("records")
    assert (row["outcome"], row["queries"], row["keys"]) == ("right", [2], [4])


def test_words_without_pieces_fall_out():
    # `the` has no piece: only `a` is asked; `dog` has none: nothing can be right about `a`.
    word_ids = [-1, 1, 2, 3, 4, 5, -1]
    (row,) = examples([sentence(word_ids=word_ids)], lambda _: looking({4: 5}, word_ids=word_ids)).to_dict("records")
    assert (row["queries"], row["keys"], row["tokens"]) == ([4], [5], ["<s>", *WORDS[1:], "</s>"])
    word_ids = [-1, 1, 2, 3, 4, -1]
    assert examples([sentence(word_ids=word_ids)], lambda _: looking({}, word_ids=word_ids)).empty


def test_a_sentence_whose_first_word_sees_nothing_is_no_example():
    table = np.tril(looking({CAT: THE, DOG: A}))
    wanted = replace(DET, kind="decoder"), replace(DET, kind="decoder", direction="head->dependent")
    down = examples([sentence()], lambda _: table, wanted[0], kind="decoder")
    up = examples([sentence()], lambda _: table, wanted[1], kind="decoder")
    assert down.empty  # `the` sees no other word
    assert list(up["outcome"]) == ["right"]


@pytest.mark.parametrize(("words", "kept"), [(5, False), (6, True), (20, True), (21, False)])
def test_short_and_long_sentences_are_left_out(words, kept):
    made = sentence(
        words=("x",) * words,
        word_ids=[-1, *range(words), -1],
        heads=[2, 0, *[2] * (words - 2)],
        relations=["det", "root", *["dep"] * (words - 2)],
    )
    table = looking({1: 2}, word_ids=made.word_ids.tolist())
    assert len(examples([made], lambda _: table)) == kept


def test_the_clearest_of_different_documents():
    clear = {("a", 0): 0.5, ("a", 1): 0.9, ("b", 0): 0.7, ("c", 0): 0.6, ("d", 0): 0.8}
    wrong = {("b", 1): 0.9, ("e", 0): 0.3, ("f", 0): 0.6, ("a", 2): 0.95}

    def weights(segment):
        key = (segment.document, segment.index)
        if key in clear:
            return looking({THE: CAT, A: DOG}, weight=clear[key])
        return looking({THE: OLD, A: DOG}, weight=wrong[key])

    made = [sentence(*key) for key in (*clear, *wrong)]
    for order in (made, made[::-1]):
        for batch_size, height in ((1, None), (3, 2), (9, 4)):
            table = examples(order, weights, batch_size=batch_size, height=height)
            found = list(table[["outcome", "document", "segment"]].itertuples(index=False, name=None))
            # a-2 fails most clearly, but document a is shown already.
            assert found == [("right", "a", 1), ("right", "d", 0), ("wrong", "b", 1)]


def test_equal_examples_do_not_depend_on_the_order():
    made = [sentence(document, 0) for document in "cadb"]
    table = looking({THE: CAT, A: DOG})
    found = {tuple(examples(order, lambda _: table)["document"]) for order in (made, made[::-1])}
    assert found == {("a", "b")}


def test_each_relation_has_its_own_head():
    maps = np.stack(
        [
            np.concatenate([looking({THE: CAT, A: DOG})[0], looking({})[0]]),
            np.concatenate([looking({})[0], looking({DOG: SAW})[0]]),
        ]
    )
    obj = WantedHead("obj", "encoder", 2, 2, "dependent->head")
    table = examples([sentence()], lambda _: maps, DET, obj, WantedHead("case", "encoder", 1, 1, "dependent->head"))
    assert list(table["relation"]) == ["det", "obj"]
    assert list(table["outcome"]) == ["right", "right"]
    assert table["keys"].tolist() == [[CAT, DOG], [SAW]]
    # A head of another kind of attention is not there.
    assert examples([sentence()], lambda _: maps, replace(DET, kind="decoder")).empty


def test_labels_folded_or_not():
    made = sentence(relations=["det:x", "amod", "nsubj", "root", "det", "obj"])
    table = looking({THE: CAT, A: DOG})
    kept, folded = (examples([made], lambda _: table, ask=syntax_questions(folded=folded)) for folded in (False, True))
    assert kept["queries"].tolist() == [[A]]
    assert folded["queries"].tolist() == [[THE, A]]


def test_random_maps_agree_with_a_plain_loop():
    """An example is right where every arc of the relation is; the shown weight is the mean over its gold arcs."""
    segments = [s for s in tree_segments(40, seed=3, longest=8) if len(s.words) >= 6]
    seen = set()
    for direction in ("dependent->head", "head->dependent"):
        wanted = WantedHead("obj", "encoder", 2, 3, direction)
        for segment in segments:
            found = examples([segment], tied_map, wanted).to_dict("records")
            places, table = between(tied_map(segment)[1, 2], segment.word_ids.tolist(), "mean")
            at = {segment.word_ids[tokens[0]]: place for place, tokens in enumerate(places)}
            at.pop(-1)
            table = table if direction == "dependent->head" else table.T
            arcs = []
            for word, (head, relation) in enumerate(zip(segment.fields["heads"], segment.fields["relns"])):
                if relation == "obj" and head and word in at and head - 1 in at:
                    others = [place for place in at.values() if place != at[word]]
                    arcs.append((at[word], at[head - 1], max(others, key=lambda p: (table[at[word], p], -p))))
            if not arcs:
                assert found == []
                continue
            (row,) = found
            right = all(gold == answer for _, gold, answer in arcs)
            seen.add(right)
            assert row["outcome"] == ("right" if right else "wrong")
            assert row["predicted"] == [answer for _, _, answer in arcs]
            asked, gold = ("queries", "keys") if direction == "dependent->head" else ("keys", "queries")
            assert (row[asked], row[gold]) == ([a for a, _, _ in arcs], [g for _, g, _ in arcs])
            assert row["value"] == pytest.approx(np.mean([table[a, g] for a, g, _ in arcs]), abs=1e-6)
    assert seen == {True, False}


def test_coreference_asks_among_the_mentions_candidates():
    # the old cat saw a dog: say `dog` is the cat's, and `old` a mention of another entity.
    mentions = mention_table(
        starts=np.array([0, 1, 4]),
        ends=np.array([3, 2, 6]),
        heads=np.array([2, 1, 5]),
        entities=np.array([0, 1, 0]),
        types=np.array([3, 3, 3]),
        words=6,
    )
    made = replace(sentence(), fields={FIELD: mentions})
    wanted = WantedHead("coreference", "encoder", 1, 1, "dependent->head")
    for answers, outcome, predicted in (({DOG: CAT}, "right", CAT), ({DOG: OLD}, "wrong", OLD)):
        table = looking(answers, weight=0.5)
        table[0, 0, 7, [5, 7]] += 0.9  # most goes to `saw` and to itself, which are no candidates
        (row,) = examples([made], lambda _, t=table: t, wanted, ask=coreference_questions).to_dict("records")
        assert (row["outcome"], row["predicted"]) == (outcome, [predicted])
        assert (row["queries"], row["keys"]) == ([DOG], [CAT])
    assert examples([sentence()], lambda _: table, wanted, ask=coreference_questions).empty


def test_which_heads_are_drawn():
    best = stand_in(
        SYNTAX_BEST,
        selection=["held-out"] * 4 + ["same-data"],
        relation=["all", "all_but_punct_root", "obj", "det", "obj"],
        layer=[1, 1, 2, 3, 4],
        head=[1, 1, 5, 6, 7],
        direction=[*["dependent->head"] * 3, "both", "dependent->head"],
    )
    assert wanted_heads(best) == [WantedHead("obj", "encoder", 2, 5, "dependent->head")]
    assert wanted_heads(best[best["selection"] == "same-data"]) == [
        WantedHead("obj", "encoder", 4, 7, "dependent->head")
    ]
    assert wanted_heads(best.iloc[:0]) == []
