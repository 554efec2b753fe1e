"""Made-up dependency tables in the shape of real ones: numbers measured on UD English EWT, and hand-written trees."""

import numpy as np

from headscope.analyses.syntax.tables import (
    SYNTAX,
    SYNTAX_BASELINES,
    SYNTAX_BEST,
    SYNTAX_BY_DISTANCE,
    SYNTAX_EXAMPLES,
    SYNTAX_NOOP,
)
from headscope.statistics.tables.frames import DISTANCES
from support.measured import with_parts
from support.mock_differences import syntax_differences
from support.stand_ins import table_of

# relation, n, layer, head, direction (d: dependent->head), accuracy, offset's accuracy, offset
MEASURED = [
    ("all", 25149, 3, 9, "d", 33.6, 27.9, 1), ("all_but_punct_root", 20085, 3, 9, "d", 42.7, 34.5, 1),
    ("nsubj", 2137, 3, 4, "d", 47.5, 33.9, 1), ("case", 2015, 4, 2, "d", 68.9, 37.7, 1),
    ("det", 1841, 4, 2, "d", 83.9, 58.9, 1), ("advmod", 1353, 3, 2, "d", 50.5, 45.8, 1),
    ("nmod", 1340, 3, 2, "d", 37.0, 22.5, -2), ("amod", 1326, 3, 9, "d", 80.3, 74.7, 1),
    ("obj", 1211, 3, 1, "d", 75.2, 35.8, -2), ("obl", 1142, 4, 3, "d", 26.7, 19.2, -2),
    ("compound", 972, 3, 9, "d", 78.4, 76.2, 1), ("conj", 916, 6, 2, "h", 36.4, 26.6, -2),
    ("aux", 911, 3, 9, "d", 66.7, 54.3, 1), ("cc", 798, 4, 9, "h", 50.6, 45.0, 1),
    ("mark", 757, 4, 9, "h", 60.6, 52.3, 1), ("cop", 627, 3, 2, "d", 56.3, 35.2, 1),
    ("acl", 383, 5, 7, "h", 32.6, 37.9, -2), ("xcomp", 381, 2, 7, "d", 73.0, 56.2, -2),
    ("advcl", 371, 3, 3, "h", 23.5, 11.6, -3), ("flat", 281, 3, 12, "d", 76.5, 75.8, -1),
    ("parataxis", 248, 3, 5, "d", 20.6, 10.1, -2), ("ccomp", 200, 4, 3, "d", 51.5, 25.0, -3),
    ("appos", 174, 1, 4, "h", 33.9, 41.4, -2), ("nummod", 159, 3, 9, "d", 77.4, 68.6, 1),
    ("discourse", 128, 4, 2, "d", 39.1, 33.6, 1),
]  # fmt: skip
DIRECTIONS = {"d": "dependent->head", "h": "head->dependent"}

# word, head, relation
SENTENCES = [
    "the:2:det committee:4:nsubj quietly:4:advmod approved:0:root the:7:det new:7:amod budget:4:obj after:10:mark "
    "she:10:nsubj raised:4:advcl her:12:nmod doubts:10:obj .:4:punct",
    "he:2:nsubj said:0:root that:10:mark the:6:det old:6:amod bridges:10:nsubj would:10:aux have:10:aux been:10:aux "
    "repaired:2:ccomp by:14:case two:14:nummod local:14:amod companies:10:obl in:16:case june:10:obl .:2:punct",
    "their:2:nmod neighbors:4:nsubj are:4:cop friendly:0:root ,:12:punct but:12:cc the:8:det dogs:12:nsubj and:11:cc "
    "a:11:det parrot:8:conj bark:4:conj at:14:case visitors:12:obl every:16:det morning:12:obl",
    "maria:2:nsubj wants:0:root to:4:mark visit:2:xcomp the:7:det city:7:compound museum:4:obj because:15:mark "
    "her:10:nmod friend:15:nsubj ,:13:punct the:13:det painter:10:appos ,:13:punct works:2:advcl there:15:advmod",
    "we:3:nsubj never:3:advmod sold:0:root the:6:det farm:6:compound equipment:3:obj to:8:case them:3:obl .:3:punct",
]  # fmt: skip


def trees():
    """Yield each sentence as words, heads (from 1) and relations."""
    for line in SENTENCES:
        parts = [word.rsplit(":", 2) for word in line.split()]
        yield [p[0] for p in parts], [int(p[1]) for p in parts], [p[2] for p in parts]


def half_width(accuracy, n):
    return 2.3 * np.sqrt(max(accuracy * (1 - accuracy), 1e-4) / n) if accuracy == accuracy else np.nan


def ends(value, n, documents):
    """Return the ends of the interval of a share, NaN for few documents."""
    if documents < 10 or value != value:
        return np.nan, np.nan
    wide = half_width(value, n)
    return max(value - wide, 0.0), min(value + wide, 1.0)


def with_treebank(inputs, *, measured=None, documents=40, controls=3, shuffled=False, special=("[CLS]", "[SEP]")):
    """Add a treebank's tables to a run; heads beyond the model's are wrapped around."""
    measured = MEASURED if measured is None else measured
    rng = np.random.default_rng(5)
    kinds = inputs.manifest["kinds"]
    kind = kinds[0]
    places = [
        (name, n, (layer - 1) % kind["layers"] + 1, (head - 1) % kind["heads"] + 1, DIRECTIONS[way], a / 100, b / 100,
         offset)
        for name, n, layer, head, way, a, b, offset in measured
    ]  # fmt: skip
    best = table_of(SYNTAX_BEST, _best(places, kind["kind"], rng, documents, controls, shuffled))
    finds = _finds(best)
    roles = inputs.roles.copy()
    roles["finds"] = [
        finds.get((k, int(a), int(b)), []) for k, a, b in zip(roles["kind"], roles["layer"], roles["head"])
    ]
    return with_parts(
        inputs,
        manifest={**inputs.manifest, "treebank": treebank_manifest(documents)},
        roles=roles,
        syntax=_syntax(places, kinds, rng, documents),
        syntax_best=best,
        syntax_differences=syntax_differences(best),
        syntax_baselines=_baselines(places, documents),
        syntax_by_distance=_distances(places, kind["kind"], rng, documents),
        syntax_noop=_noop(places, kind["kind"], rng, documents, special),
        syntax_examples=arc_examples(places, kind["kind"], special, rng, causal=kind["kind"] == "decoder"),
    )


def treebank_manifest(documents):
    return {
        "name": "en_ewt-ud-dev.conllu", "documents": documents, "sentences": 2001, "words": 25149, "words_split": 2011,
        "words_dropped": 3, "skipped": {"longer than 512 tokens": 2}, "folded": True,
        "special_kept": False, "special_changes": {"accuracies": 812, "of": 3600, "largest": 0.214}, "pooling": "mean",
    }  # fmt: skip


def _best(places, kind, rng, documents, controls, shuffled):
    rows = []
    for name, n, layer, head, direction, accuracy, offset_accuracy, offset in places:
        wide, even = half_width(accuracy, n), half_width(offset_accuracy, n)
        gap = (accuracy - offset_accuracy) / np.hypot(wide, even)
        q = float(np.clip(np.exp(-1.6 * max(gap, 0) ** 2) * (1 if gap > 0 else 1.6), 1e-9, 1))
        held = accuracy - 0.004
        few = documents < 10
        nothing = (np.nan, np.nan)
        beside = nothing if few else (offset_accuracy - even, offset_accuracy + even)
        q = np.nan if few else q
        margin, half = accuracy - offset_accuracy, 0.6 * float(np.hypot(wide, even))
        margin = (margin, *(nothing if few else (margin - half, margin + half)))
        for selection, value, share in (("held-out", held, min(1.0, 0.55 + 0.4 * gap)), ("same-data", np.nan, np.nan)):
            between = nothing if few else (accuracy - wide, accuracy + wide)
            around = nothing if few else (value - wide, value + wide)
            every = nothing if few or np.isnan(value) else (value - wide + 0.01, value + wide + 0.01)
            rows.append(("trained", None, selection, name, n, kind, layer, head, max(share, 0.3), direction, accuracy,
                         *between, value + 0.01, *every, value, *around, offset, offset_accuracy, *beside, *margin,
                         q))  # fmt: skip
        for seed in range(controls):
            low = offset_accuracy * rng.uniform(0.55, 0.8)
            around = nothing if few else (low - even, low + even)
            rows.append(("control", seed, "held-out", name, n, kind, 1, 1 + seed, 0.3, direction, low + 0.01, *around,
                         low + 0.02, *nothing, low, *around, offset, offset_accuracy, *beside,
                         low + 0.01 - offset_accuracy, *nothing, np.nan))  # fmt: skip
        if shuffled:
            low = 0.4 * accuracy
            rows.append(("shuffled", None, "held-out", name, n, kind, 1, 2, 0.4, direction, low, *nothing, low,
                         *nothing, low, *nothing, offset, offset_accuracy, *nothing, low - offset_accuracy, *nothing,
                         np.nan))  # fmt: skip
    return rows


def _finds(best):
    own = best[(best["model"] == "trained") & (best["selection"] == "held-out") & (best["q_value"] < 0.05)]
    own = own[~own["relation"].isin(["all", "all_but_punct_root"]) & (own["accuracy"] > own["baseline_accuracy"])]
    found = {}
    for kind, layer, head, relation in zip(own["kind"], own["layer"], own["head"], own["relation"]):
        found.setdefault((kind, int(layer), int(head)), []).append(relation)
    return found


def _syntax(places, kinds, rng, documents):
    rows = []
    for entry in kinds:
        if entry["kind"] == "cross":
            continue
        for name, n, layer, head, direction, accuracy, *_ in places:
            depth = np.abs(np.arange(1, entry["layers"] + 1) - layer)
            ceiling = accuracy * np.exp(-0.16 * depth)
            values = ceiling[:, None, None] * rng.beta(2, 3.2, size=(entry["layers"], entry["heads"], 2))
            if entry is kinds[0]:
                values[layer - 1, head - 1, int(direction == "head->dependent")] = accuracy
            for (a, b, c), value in np.ndenumerate(values):
                rows.append(("trained", None, entry["kind"], a + 1, b + 1, list(DIRECTIONS.values())[c], name, n, 1.0,
                             value, *ends(value, n, documents), 0.5))  # fmt: skip
    return table_of(SYNTAX, rows)


def _baselines(places, documents):
    rows = []
    for name, n, *_, offset_accuracy, offset in places:
        every = [
            ("offset", shift, offset_accuracy * (1.0 if shift == offset else 0.5 / abs(shift)))
            for shift in (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5)
        ]
        every += [
            ("left-branching", -1, 0.6 * offset_accuracy),
            ("right-branching", 1, offset_accuracy if offset == 1 else 0.3 * offset_accuracy),
        ]
        rows += [(baseline, shift, name, n, value, *ends(value, n, documents)) for baseline, shift, value in every]
    return table_of(SYNTAX_BASELINES, rows)


def _distances(places, kind, rng, documents):
    rows = []
    for name, n, layer, head, direction, accuracy, offset_accuracy, offset in places:
        shares = rng.dirichlet([8, 7, 4, 2.5, 1.5, 2, 0.6])
        for place, (distance, share) in enumerate(zip(DISTANCES, shares)):
            here = int(share * n)
            if not here:
                continue
            value = float(np.clip(accuracy * (1.18 - 0.11 * place) + rng.normal(0, 0.02), 0.01, 0.99))
            baseline = min(1.0, offset_accuracy / max(share, 0.3)) if distance == str(abs(offset)) else 0.0
            rows.append(("trained", kind, layer, head, direction, name, distance, here, value,
                         *ends(value, here, documents), offset, baseline))  # fmt: skip
    return table_of(SYNTAX_BY_DISTANCE, rows)


def _noop(places, kind, rng, documents, special):
    rows = []
    classes = [name for name, token in zip(("cls", "sep"), special) if token]
    for name, n, layer, head, direction, accuracy, *_ in places:
        if name.startswith("all"):
            continue
        for key_class in classes:
            others = rng.uniform(0.3, 0.55) if key_class == "sep" else rng.uniform(0.02, 0.1)
            attending = others * (1.15 - accuracy)
            wide = np.nan if documents < 10 else rng.uniform(0.01, 0.03)
            difference = attending - others
            rows.append((kind, layer, head, direction, name, key_class, n, 25149 - n, attending, others, difference,
                         difference - wide, difference + wide))  # fmt: skip
    return table_of(SYNTAX_NOOP, rows)


def arc_examples(places, kind, special, rng, *, causal=False):
    """Return up to two right examples and a wrong one of each relation in the sentences."""
    rows = []
    for name, _, layer, head, direction, *_ in places:
        having = [tree for tree in trees() if name in tree[2]]
        for place, (words, heads, relations) in enumerate(having[:3]):
            right = place < 2
            arcs = [(d, h - 1) for d, (h, r) in enumerate(zip(heads, relations)) if r == name]
            if direction == "head->dependent":
                arcs = [(h, d) for d, h in arcs]
            rows.append(
                arc_row(kind, layer, head, direction, name, words, arcs, right, special, rng, place, causal=causal)
            )
    return table_of(SYNTAX_EXAMPLES, rows)


def arc_row(kind, layer, head, direction, relation, words, arcs, right, special, rng, place=0, *, causal=False):
    """Return one example: if `right`, gold arcs get most of their query's weight, otherwise a neighbor does."""
    cls, sep = special
    tokens = [*([cls] if cls else []), *words, *([sep] if sep else [])]
    shift, n = int(bool(cls)), len(words) + int(bool(cls)) + int(bool(sep))
    weights = np.exp(1.6 * rng.standard_normal((n, n)))
    if causal:
        weights = np.tril(weights)
    weights /= weights.sum(1, keepdims=True)
    rest = n - 1 if sep else 0
    weights = 0.45 * weights + 0.55 * np.eye(n)[rest]
    queries, keys, predicted = [], [], []
    for query, key in arcs:
        q, k = query + shift, key + shift
        aim = k if right else (k + 1 if k + 1 != q and k + 1 < n - int(bool(sep)) else max(k - 1, shift))
        strong = rng.uniform(0.62, 0.93)
        if direction == "head->dependent" and not right:
            other = q + 1 if q + 1 < n - int(bool(sep)) and q + 1 != k else q - 1
            weights[other] = (1 - strong) * weights[other] + strong * np.eye(n)[k]
            predicted.append(other)
        else:
            weights[q] = (1 - strong) * weights[q] + strong * np.eye(n)[aim]
            predicted.append(q if direction == "head->dependent" else aim)
        queries.append(q)
        keys.append(k)
    value = float(np.mean([weights[q, k] for q, k in zip(queries, keys)]))
    values = (kind, layer, head, direction, relation, "right" if right else "wrong", value, f"d41d8cd9{place}", place,
              tokens, weights.astype(np.float32).ravel().tolist(), queries, keys, predicted)  # fmt: skip
    return dict(zip(SYNTAX_EXAMPLES.names, values))
