"""Made-up runs in the shape of real ones: a recipe gives each head's attention maps, from which tables follow."""

from zlib import crc32

import numpy as np
import pandas as pd

from headscope.analyses.stats.tables import EXAMPLES, STATS
from headscope.attention.row_quantities import CLASSES, OFFSETS, RowQuantity
from headscope.statistics.roles import ROLES, role_of
from headscope.statistics.statistic import Rows
from headscope.statistics.statistic_catalog import STATISTICS, is_share
from support.measured import study_in_memory, with_parts
from support.mock_coreference import with_coreference
from support.mock_differences import stats_differences
from support.mock_syntax import with_treebank
from support.stand_ins import table_of

SENTENCE = [
    "[CLS]", "the", "old", "bridge", "was", "reopened", "on", "tuesday", ",", "and", "about", "three", "hundred",
    "people", "walked", "across", "it", ".", "[SEP]",
]  # fmt: skip
TARGET = ["▁Die", "▁alte", "▁Brücke", "▁wurde", "▁am", "▁Dienstag", "▁wieder", "▁eröffnet", "▁.", "</s>"]
POSITIONS = ("previous", "next", "current")
SPECIAL = {"cls": ("[CLS]", "<s>"), "sep": ("[SEP]", "</s>")}


def key_classes(keys):
    """Return masks over keys of cls, sep and punctuation."""
    keys = np.array([key.strip("▁Ġ") for key in keys])
    return {
        "cls": np.isin(keys, SPECIAL["cls"]),
        "sep": np.isin(keys, SPECIAL["sep"]),
        "period_comma": np.isin(keys, [".", ","]),
    }


def head_map(recipe, queries, keys, *, causal, rng):
    """Return attention [query, key] with a recipe's shares on positions and classes; noise gets the rest."""
    n, m = len(queries), len(keys)
    visible = np.tril(np.ones((n, m))) if causal else np.ones((n, m))
    noise = np.exp(recipe.get("noise", 1.0) * rng.standard_normal((n, m))) * visible
    out = np.zeros((n, m))
    classes = key_classes(keys)
    for name, share in recipe.items():
        if name in classes:
            target = classes[name] * visible
        elif name in POSITIONS:
            target = np.eye(n, m, k={"previous": -1, "next": 1, "current": 0}[name]) * visible
        else:
            continue
        total = target.sum(1, keepdims=True)
        out += share * np.divide(target, total, out=np.zeros_like(target), where=total > 0)
    return out + (1 - out.sum(1, keepdims=True)) * noise / noise.sum(1, keepdims=True)


def measure(weights, queries, keys, *, causal, cross):
    """Compute {statistic: (value, uniform)} of one map by plain code, without statistics that cannot occur."""
    n, m = weights.shape
    visible = np.tril(np.ones((n, m))) if causal else np.ones((n, m))
    uniform = visible / visible.sum(1, keepdims=True)
    out = {}
    for name, one in STATISTICS.items():
        rows = rows_of(one.rows, queries)
        pair = [quantity_of(each, one.quantity, keys) for each in (weights, uniform)]
        # A decoder's first row sees only itself, whatever the head.
        alone = one.rows is Rows.CLS and (causal or cross)
        if rows.any() and pair[1][rows].sum() > 0 and not alone and not (cross and one.quantity in OFFSETS):
            out[name] = tuple(float(each[rows].mean()) for each in pair)
    return out


def rows_of(rows, queries):
    """Return a mask of the rows of a mean."""
    if rows.key_class is None:
        return np.ones(len(queries), dtype=bool)
    of_class = key_classes(queries)[rows.key_class.name.lower()]
    return of_class if rows.inside else ~of_class


def quantity_of(weights, quantity, keys):
    """Compute a row quantity of every row of one map, from its definition."""
    if quantity in OFFSETS:
        queries, places = np.indices(weights.shape)
        return np.where(np.isin(places - queries, OFFSETS[quantity]), weights, 0).sum(1)
    if quantity in CLASSES:
        classes = key_classes(keys)
        none = np.zeros(len(keys), dtype=bool)  # the made-up sentences have no other marks
        own = [classes.get(each.name.lower(), none) for each in CLASSES[quantity]]
        return weights[:, np.any(own, axis=0)].sum(1)
    if quantity is RowQuantity.ENTROPY:
        return -(weights * np.log(np.where(weights > 0, weights, 1))).sum(1)
    if quantity is RowQuantity.SINK_LOGIT:
        return np.zeros(len(weights))  # these models have no learned sink
    assert quantity is RowQuantity.MAX_WEIGHT
    return weights.max(1)


def long_text(sentence, times):
    """Return a segment as long as real ones: the sentence's inside repeated between its ends."""
    head, *inside, last = sentence
    return [head, *(inside * times), last]


def encoder_recipe(layer, head, layers, rng):
    """Return a BERT-like recipe: positions and broad heads early, then [CLS], then the separator."""
    depth = layer / max(layers - 1, 1)
    if layer == 0 and head % 2 == 0:
        return {"noise": 0.35}
    special = {(0, 1): {"previous": 0.97}, (1, 3): {"next": 0.9, "cls": 0.05}, (1, 5): {"previous": 0.62, "cls": 0.2}}
    if (layer, head) in special:
        return special[layer, head] | {"noise": 0.8}
    if layer == layers - 1 and head % 5 == 2:
        return {"period_comma": 0.68, "noise": 1.0}
    rest = 0.75 * np.sin(np.pi * depth) * rng.uniform(0.5, 1.15)
    to_sep = 0.15 if depth < 0.5 else 0.75
    return {
        "cls": rest * (1 - to_sep) * 0.95,
        "sep": rest * to_sep,
        "previous": rng.uniform(0, 0.15),
        "current": rng.uniform(0, 0.06),
        "noise": 1.3,
    }


def causal_recipe(layer, head, layers, rng):
    """Return a decoder's recipe: some heads look back, most attend to the first position or spread."""
    if head % 4 == 1:
        return {"previous": rng.uniform(0.55, 0.85), "noise": 1.0}
    return {"current": rng.uniform(0.05, 0.3), "noise": rng.uniform(0.5, 1.6)}


def random_recipe(layer, head, layers, rng):
    """Return a nearly uniform recipe, as of random weights."""
    return {"noise": 0.08}


def cross_recipe(layer, head, layers, rng):
    """Return a recipe of cross attention: the separator of the source, or spread."""
    return {"sep": rng.uniform(0.1, 0.7), "noise": 1.2}


def role_of_head(values):
    """Return the role of a head with these statistics and their uniform values."""
    value, uniform = ({name: pair[place] for name, pair in values.items()} for place in range(2))
    return role_of(value, uniform=uniform)


def tables(kinds, *, documents=40, segments=200, seed=0, queries=None, keys=None):
    """Build statistics, roles and examples for `kinds`: [(kind, layers, heads, recipe)]."""
    rng = np.random.default_rng(seed)
    stats, roles, examples = [], [], []
    for kind, layers, heads, recipe in kinds:
        tokens = list(queries or (SENTENCE if kind == "encoder" else TARGET))
        sources = list(keys or SENTENCE) if kind == "cross" else tokens
        long_q = long_text(tokens, 6)
        long_k = long_text(sources, 6) if kind == "cross" else long_q
        causal, cross = kind == "decoder", kind == "cross"
        best = {}
        for layer in range(layers):
            per_layer = {}
            for head in range(heads):
                mix = recipe(layer, head, layers, rng)
                values = measure(
                    head_map(mix, long_q, long_k, causal=causal, rng=rng), long_q, long_k, causal=causal, cross=cross
                )
                for name in STATISTICS:
                    per_layer.setdefault(name, []).append(values.get(name))
                    stats.append(row(kind, layer, head, name, values.get(name), documents, segments))
                role = role_of_head(values)
                roles.append({"kind": kind, "layer": layer + 1, "head": head + 1, "role": role})
                short = head_map(mix, tokens, sources, causal=causal, rng=rng)
                examples.append(example(kind, layer, head, "shared", float(short.max()), tokens, sources, short))
                score = values[ROLES[role].example][0]
                if score > best.get(role, (-1,))[0]:
                    best[role] = (score, layer, head, short)
            for name, pairs in per_layer.items():
                pair = None if pairs[0] is None else tuple(np.mean(pairs, axis=0))
                stats.append(row(kind, layer, None, name, pair, documents, segments))
        examples += [
            example(kind, a, b, role, score, tokens, sources, weights)
            for role, (score, a, b, weights) in best.items()
            if role != "mixed"
        ]
    return table_of(STATS, stats), pd.DataFrame(roles), table_of(EXAMPLES, examples)


def row(kind, layer, head, name, pair, documents, segments):
    """Return one row of the table of statistics.

    The seed of its interval's width depends on the row alone, so that a new statistic changes no other row.
    """
    at = {"kind": kind, "layer": layer + 1, "head": None if head is None else head + 1}
    out = at | {"measure": "weight", "statistic": name}
    nothing = {"value": np.nan, "ci_low": np.nan, "ci_high": np.nan, "uniform": np.nan, "n_inputs": 0}
    if pair is None:
        return out | nothing
    value, uniform = (float(x) for x in pair)
    drawn = crc32(f"{kind} {layer} {head} {name}".encode()) / 2**32
    spread = 0.02 * (value if value > 1 else np.sqrt(value * (1 - value)) + 1e-4) * (0.7 + 0.6 * drawn)
    low, high = value - 1.1 * spread, value + 0.9 * spread
    if is_share(name):
        low, high = max(low, 0.0), min(high, 1.0)
    if documents < 10:
        low = high = np.nan
    return out | {"value": value, "ci_low": low, "ci_high": high, "uniform": uniform, "n_inputs": segments}


def example(kind, layer, head, behavior, value, tokens, keys, weights):
    """Return one row of the examples table."""
    return {
        "kind": kind, "layer": layer + 1, "head": head + 1, "behavior": behavior, "value": value,
        "document": "d41d8cd9", "segment": 7, "tokens": list(tokens), "keys": list(keys),
        "continues_word": [at for at, key in enumerate(keys) if key.startswith("##")],
        "weights": weights.astype(np.float32).ravel().tolist(),
    }  # fmt: skip


def manifest(kinds, *, name="minilm-mlm", documents=40, segments=200, special=None, truncated=3):
    """Return a run's manifest."""
    model = {
        "name": name, "revision": None, "weights": "9f0c4f1e6f0a4b1f", "family": "bert",
        "config": {"hidden_size": 384, "num_hidden_layers": 6},
    }  # fmt: skip
    if special is not None:
        model["special"] = special
    return {
        "headscope": "0.1.0",
        "created": "2026-11-21T08:00:00Z",
        "command": "headscope report --text wiki.txt --out out",
        "complete": True,
        "signature": {
            "id": "3fa2b6c1d09e",
            "model": model,
            "tokenizer": "5b1c22aa",
            "corpus": {"hash": "77aa01", "documents": documents + 1, "segments": segments, "name": "wiki.txt"},
            "options": {
                "packing": "pretraining", "max_length": 128, "too_long": "truncate", "token_types": "own",
                "dtype": "float32", "max_inputs": None,
            },
            "seed": 0,
            "versions": {"python": "3.11.7", "torch": "2.13.0", "transformers": "5.23.0", "headscope": "0.1.0"},
        },
        "kinds": [{"kind": kind, "layers": layers, "heads": heads} for kind, layers, heads, _ in kinds],
        "counts": {
            "documents": documents + 1, "documents_used": documents, "segments": segments, "tokens": 118 * segments,
            "truncated": truncated, "skipped": 1, "skipped_why": {"too long": 1},
        },
        "timings": {"scan_s": 12.3, "total_s": 15.8},
        "tap": "fused",
        "notes": ["Punctuation is the pieces that are exactly . or , without their word-start mark."],
    }  # fmt: skip


def build(kinds, *, documents=40, segments=200, name="minilm-mlm", special=None, is_bert_base=False, **sentence):
    """Return a run with these kinds of attention."""
    stats, roles, examples = tables(kinds, documents=documents, segments=segments, **sentence)
    told = manifest(kinds, name=name, documents=documents, segments=segments, special=special)
    return study_in_memory(
        told,
        {"stats": stats, "stats_differences": stats_differences(stats), "examples": examples},
        roles=roles,
        is_bert_base=is_bert_base,
    )


def encoder(layers=6, heads=12, **options):
    """Return a BERT-like encoder."""
    return build([("encoder", layers, heads, encoder_recipe)], **options)


def decoder(layers=2, heads=2, **options):
    """Return a decoder without a separator, for which several statistics are null."""
    tokens = ["Once", "Ġupon", "Ġa", "Ġtime", "Ġthere", "Ġlived", "Ġa", "Ġking", ",", "Ġand", "Ġhe", "Ġslept", "Ġ."]
    kinds = [("decoder", layers, heads, causal_recipe)]
    return build(kinds, name="tiny-gpt2", special={"cls": None, "sep": None}, queries=tokens, **options)


def t5():
    """Return an encoder-decoder, which has three kinds of attention."""
    kinds = [("encoder", 3, 4, encoder_recipe), ("decoder", 3, 4, causal_recipe), ("cross", 3, 4, cross_recipe)]
    return build(kinds, name="t5-tiny", special={"cls": None, "sep": "</s>"})


def random_weights(layers=4, heads=8, **options):
    """Return a model that was never trained."""
    return build([("encoder", layers, heads, random_recipe)], name="random-bert", **options)


HOSTILE = [
    "[CLS]", "</script><script>alert(1)</script>", '"\'><img src=x onerror=alert(2)>', "&lt;b&gt;",
    "שלום", "العربية",
    "👩‍👩‍👧‍👦", "\u200b", "a\u202eb", "\u2028", "x" * 5000,
    "e" + "\u0301" * 400, "$\\frac{1}{2}$", "日本語テキストです", "", "\x00\x07", "[SEP]",
]  # fmt: skip


def hostile():
    """Return a run whose tokens and names try to break out of the page."""
    name = "</title><script>alert(3)</script>"
    inputs = build([("encoder", 2, 3, encoder_recipe)], name=name, queries=HOSTILE)
    told = dict(inputs.manifest)
    told["notes"] = ["<img src=x onerror=alert(4)>"]
    told["command"] = "headscope report --text '</script><script>alert(5)</script>'"
    return with_parts(inputs, manifest=told)


def section_4(layers=6, heads=12, *, documents=40, **options):
    """Return a BERT-like encoder evaluated on a treebank and on coreference."""
    inputs = encoder(layers, heads, documents=documents, **options)
    return with_coreference(with_treebank(inputs, documents=documents), documents=documents)


def two_kinds():
    """Return an encoder and a decoder without [CLS], both evaluated."""
    kinds = [("encoder", 2, 3, encoder_recipe), ("decoder", 3, 4, causal_recipe)]
    inputs = build(kinds, name="t5-tiny", special={"cls": None, "sep": "</s>"})
    special = (None, "</s>")
    return with_coreference(with_treebank(inputs, special=special), special=special)


def hostile_section_4():
    """Return a run whose relations, words and names try to break out of the page."""
    attack = "</script><script>alert(6)</script>"
    inputs = section_4(2, 3)
    rename = {"obj": attack, "det": '"><img src=x onerror=alert(7)>', "case": "x" * 300}
    names = ("syntax", "syntax_best", "syntax_baselines", "syntax_by_distance", "syntax_noop")
    tables = {name: inputs.tables.get(name).replace({"relation": rename}) for name in names}
    for name in ("syntax_examples", "coref_examples"):
        arcs = inputs.tables.get(name).replace({"relation": rename})
        arcs["tokens"] = [
            [token if token.startswith("[") else f"<b>{attack}" for token in row] for row in arcs["tokens"]
        ]
        tables[name] = arcs.assign(document=attack)
    roles = inputs.roles.assign(finds=[[rename.get(one, one) for one in row] for row in inputs.roles["finds"]])
    told = {
        **inputs.manifest,
        "treebank": {**inputs.manifest["treebank"], "name": attack, "skipped": {attack: 2}},
        "coreference": {**inputs.manifest["coreference"], "name": attack, "lost_why": {attack: 3}},
    }
    coreference = inputs.tables.get("coref").replace({"system": {"rules": attack}, "mention_type": {"proper": attack}})
    return with_parts(inputs, manifest=told, roles=roles, coref=coreference, **tables)
