"""Made-up trees on made-up segments, and the scoring of section 4.2 as a plain loop over words."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from headscope.encoding.segment import NO_WORD, Segment
from support.inputs import CLS, DOT, SEP
from support.tiny_models import VOCABULARY

NAMES = ("nsubj", "obj", "punct", "poss", "nsubj:pass", "case")
WORDS = ("cat", "'s", "'", "s'", "the", "her")
DIRECTIONS = ("dependent->head", "head->dependent", "both")


def random_tree(number: int, rng: np.random.Generator) -> tuple[list[int], list[str]]:
    """Return heads, from 1 with 0 for the root, and relations."""
    heads, order = [0] * number, rng.permutation(number)
    for place in range(1, number):
        heads[order[place]] = int(order[rng.integers(place)]) + 1
    relations = rng.choice(NAMES, size=number).tolist()
    return heads, ["root" if head == 0 else name for head, name in zip(heads, relations)]


def with_tree(segment: Segment, rng: np.random.Generator) -> Segment:
    """Give a segment's words a random tree, and words where it has none; other fields stay."""
    words = segment.words or tuple(rng.choice(WORDS, size=int(segment.word_ids.max()) + 1).tolist())
    heads, relations = random_tree(len(words), rng)
    return replace(segment, words=words, fields={**segment.fields, "heads": heads, "relns": relations})


def tree_segments(number: int, *, seed: int = 0, longest: int = 9, documents: int | None = None) -> list[Segment]:
    """Return sentences with trees; some words have 2 or 4 tokens, some have none, some sentences contain a [SEP]."""
    rng = np.random.default_rng(seed)
    made = []
    for place in range(number):
        word_ids, ids = [NO_WORD], [CLS]
        words = int(rng.integers(1, longest + 1))
        for word in range(words):
            pieces = int(rng.choice([0, 1, 1, 1, 1, 2, 4]))
            word_ids += [word] * pieces
            ids += rng.integers(DOT, VOCABULARY, size=pieces).tolist()
            if rng.random() < 0.1:
                word_ids.append(NO_WORD)
                ids.append(SEP)
        segment = Segment(
            document=f"doc{place % (documents or number)}",
            index=place // (documents or number),
            ids=np.array([*ids, SEP]),
            token_types=np.zeros(len(ids) + 1, dtype=np.int64),
            word_ids=np.array([*word_ids, NO_WORD]),
            words=tuple(rng.choice(WORDS, size=words).tolist()),
        )
        made.append(with_tree(segment, rng))
    return made


def tied_map(segment: Segment, *, layers: int = 2, heads: int = 3, causal: bool = False) -> np.ndarray:
    """Return a map of few different weights, so that many words tie exactly: sums of sixteenths are not rounded."""
    rng = np.random.default_rng([len(segment), segment.index, *segment.ids[:4].tolist()])
    n = len(segment)
    weights = rng.integers(1, 4, size=(layers, heads, n, n)) / 16
    return np.where(np.tril(np.ones((n, n), dtype=bool)), weights, 0.0) if causal else weights


def between(weights: np.ndarray, word_ids: Sequence[int], pooling: str) -> tuple[list[list[int]], np.ndarray]:
    """Return the tokens of each word or special token in order, and one head's attention between them."""
    places: list[list[int]] = []
    for token, word in enumerate(word_ids):
        own = next((group for group in places if word != NO_WORD and word_ids[group[0]] == word), None)
        if own is None:
            places.append([token])
        else:
            own.append(token)
    table = np.zeros((len(places), len(places)))
    for row, tokens in enumerate(places):
        each = [[sum(weights[q][k] for k in keys) for keys in places] for q in tokens]
        if pooling == "first":
            table[row] = each[0]
        elif pooling == "mean":
            table[row] = [sum(column) / len(tokens) for column in zip(*each)]
        else:
            most = [max(column) for column in zip(*each)]
            whole = sum(map(sum, each)) / len(tokens)  # 1, except in hand-made maps and with a learned sink
            table[row] = [value * whole / sum(most) for value in most]
    return places, table


def distance_name(distance: int) -> str:
    """Return the name of a distance's class."""
    return str(distance) if distance <= 5 else "6-10" if distance <= 10 else "over 10"


def plain_loop(
    segments: Sequence[Segment],
    maps: Sequence[np.ndarray],
    *,
    pooling: str = "mean",
    special: bool = False,
    causal: bool = False,
    row_of: Callable[[str], str] = str,
) -> dict[str, Counter]:
    """Count the quantities of section 4.2 word by word.

    The keys are `hits` (document, relation, distance, layer, head, direction), `counts` (document, relation,
    distance), `offsets` (document, relation, distance, offset), `reachable` (relation, layer, direction),
    `attending` (document, relation, direction) and `noop` (document, relation, direction, layer, head, class); the
    last two exclude a segment's first and last word. The root has distance None. `row_of` maps a label to its row,
    for sets of words that several labels share.
    """
    found: dict[str, Counter] = {
        name: Counter() for name in ("hits", "counts", "offsets", "reachable", "attending", "noop")
    }
    for segment, weights in zip(segments, maps):
        heads, relations = segment.fields["heads"], segment.fields["relns"]
        word_ids = segment.word_ids.tolist()
        tables = {
            (layer, head): between(weights[layer, head], word_ids, pooling)
            for layer in range(weights.shape[0])
            for head in range(weights.shape[1])
        }
        places = tables[0, 0][0]
        at = {word_ids[tokens[0]]: place for place, tokens in enumerate(places) if word_ids[tokens[0]] != NO_WORD}
        inner = set(sorted(at, key=at.__getitem__)[1:-1])
        rows = [row_of(name) for name in relations]
        for relation in set(rows):
            below = [word for word, name in enumerate(rows) if name == relation]
            above = [heads[word] - 1 for word in below if heads[word]]
            for direction, who in zip(DIRECTIONS, ({*below}, {*above}, {*below, *above})):
                for word in who & inner:
                    found["attending"][segment.document, relation, direction] += 1
                    for (layer, head), (_, table) in tables.items():
                        for place, tokens in enumerate(places):
                            if (token := segment.ids[tokens[0]]) in (SEP, CLS):
                                key = (segment.document, relation, direction, layer, head)
                                name = "sep" if token == SEP else "cls"
                                found["noop"][*key, name] += table[at[word], place]
        for word, (number, relation) in enumerate(zip(heads, relations)):
            gold = number - 1 if number else None
            distance = None if gold is None else distance_name(abs(gold - word))
            arc = (segment.document, relation, distance)
            found["counts"][arc] += 1
            asked = word
            if relation == "poss" and word + 1 < len(heads) and segment.words[word + 1] in ("'s", "'"):
                asked = word + 1
            for offset in range(-5, 6):
                if offset and asked + offset == gold:
                    found["offsets"][*arc, offset] += 1
            for (layer, head), (_, table) in tables.items():
                if asked not in at:
                    continue
                for direction in DIRECTIONS:
                    best = None
                    for place, tokens in enumerate(places):
                        there = not causal or max(places[at[asked]]) >= min(tokens)
                        back = not causal or max(tokens) >= min(places[at[asked]])
                        weight, seen = {
                            "dependent->head": (table[at[asked], place], there),
                            "head->dependent": (table[place, at[asked]], back),
                            "both": (table[at[asked], place] + table[place, at[asked]], there or back),
                        }[direction]
                        if place == at[asked] or (place not in at.values() and not special) or not seen:
                            continue
                        if head == 0 and gold is not None and place == at.get(gold):
                            found["reachable"][relation, layer, direction] += 1
                        if best is None or weight > best[0]:
                            best = (weight, place)
                    if best is not None and gold is not None and best[1] == at.get(gold):
                        found["hits"][*arc, layer, head, direction] += 1
    return found
