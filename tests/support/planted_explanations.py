"""Hand-made heads composed of features, in inputs of random words, with their expected explanation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import minimize

from headscope.analyses.explanation.catalog import CATALOG, FEATURES, Catalog
from headscope.analyses.explanation.explain import explain
from headscope.analyses.explanation.row_context import Annotation, RowContext, Tokens
from headscope.analyses.explanation.sample import RowSample, row_sample
from headscope.analyses.explanation.sentence import WordNames
from headscope.analyses.explanation.sums import KeptSegment, SampledRows
from headscope.analyses.explanation.table_rows import head_rows
from headscope.analyses.explanation.tables import WEIGHT
from headscope.analyses.explanation.vocabulary_facts import VocabularyFacts
from headscope.encoding.vocabulary import KeyClass
from headscope.statistics.statistic import Special

DOCUMENTS, ROWS, WORDS = 48, 12, 36
VERBS = ("see", "find", "take", "hold")
NOUNS = ("dog", "cat", "tree", "house", "river", "stone")
OTHERS = ("not", "no", "never", "the", "a", "old", "green", "very", "often", "here", "there", "soon")
PIECES = ("walk", "##ing", "##s", "##ed", "talk", "jump")
NAMES = ("[CLS]", "[SEP]", ".", ",", *VERBS, *NOUNS, *OTHERS, *PIECES)
IDS = {name: number for number, name in enumerate(NAMES)}
CLASSES = {"[CLS]": KeyClass.CLS, "[SEP]": KeyClass.SEP, ".": KeyClass.PERIOD_COMMA, ",": KeyClass.PERIOD_COMMA}


@dataclass(frozen=True, eq=False)
class Input:
    """Hold a text of random words, with a tree of verbs and their objects."""

    tokens: Tokens
    rows: np.ndarray
    annotation: Annotation


@cache
def inputs() -> tuple[Input, ...]:
    """Return the inputs, which are always the same."""
    return tuple(_input(np.random.default_rng((7, number))) for number in range(DOCUMENTS))


def _input(rng: np.random.Generator) -> Input:
    names, words, tags, heads, relations = ["[CLS]"], [-1], [], [], []
    for word in range(WORDS):
        sort = rng.choice(["verb", "noun", "other", "pieces", "mark"], p=[0.15, 0.25, 0.35, 0.1, 0.15])
        if sort == "pieces":
            pieces = [str(rng.choice(PIECES[::4] + PIECES[5:])), str(rng.choice(PIECES[1:4]))]
        else:
            sorts = {"verb": VERBS, "noun": NOUNS, "other": OTHERS, "mark": (".", ",")}
            pieces = [str(rng.choice(sorts[sort]))]
        names += pieces
        words += [word] * len(pieces)
        tags.append({"verb": "VERB", "noun": "NOUN", "mark": "PUNCT"}.get(str(sort), "X"))
    verbs = [word for word, tag in enumerate(tags) if tag == "VERB"]
    for word, tag in enumerate(tags):
        before = [verb for verb in verbs if verb < word]
        is_object = tag == "NOUN" and bool(before) and rng.random() < 0.7
        heads.append(before[-1] if is_object else -1)
        relations.append("obj" if is_object else "dep")
    names.append("[SEP]")
    words.append(-1)
    tokens = Tokens(
        ids=np.array([IDS[name] for name in names]),
        classes=np.array([int(CLASSES.get(name, KeyClass.OTHER)) for name in names]),
        word_ids=np.array(words),
    )
    rows = np.sort(rng.choice(len(names), ROWS, replace=False))
    annotation = Annotation(tags=tuple(tags), heads=np.array(heads), relations=tuple(relations))
    return Input(tokens, rows, annotation)


@cache
def counts() -> np.ndarray:
    """Return the frequency of each token."""
    return np.bincount(np.concatenate([each.tokens.ids for each in inputs()]), minlength=len(NAMES))


@cache
def vocabulary() -> VocabularyFacts:
    """Return facts on the tokens, without embeddings."""
    facts = VocabularyFacts.of_names(dict(enumerate(NAMES)), special=[IDS["[CLS]"], IDS["[SEP]"]])
    return facts.with_counts(counts())


def values(name: str, rows: RowContext) -> np.ndarray:
    """Return a feature in all cells of some rows, `[row, key]`."""
    found = np.asarray(FEATURES[name].values(rows), dtype=np.float64)
    return np.broadcast_to(found, rows.visible.shape)


def context(each: Input, visible: np.ndarray, *, trees: bool, facts: VocabularyFacts | None = None) -> RowContext:
    """Return the context of an input's rows."""
    annotation = each.annotation if trees else Annotation()
    return RowContext(
        rows=each.rows,
        visible=visible,
        queries=each.tokens,
        keys=each.tokens,
        vocabulary=vocabulary() if facts is None else facts,
        annotation=annotation,
    )


def planted(scores: Mapping[str, float], each: Input) -> np.ndarray:
    """Return attention that is the softmax of features with these coefficients, `[row, key]`.

    `favors` raises three words, `sep_from_marks` the separators if the attending token is punctuation, and otherwise
    the previous token.
    """
    shape = (len(each.rows), len(each.tokens))
    rows = context(each, np.ones(shape, dtype=bool), trees=True)
    logits = np.zeros(shape)
    for name, score in scores.items():
        if name == "favors":
            logits += score * np.isin(rows.key_texts, ("not", "no", "never"))
        elif name == "sep_from_marks":
            marks = (each.tokens.classes == KeyClass.PERIOD_COMMA)[each.rows][:, None]
            logits += score * np.where(marks, values("sep", rows), values("previous", rows))
        else:
            logits += score * values(name, rows)
    weights = np.exp(logits - logits.max(1, keepdims=True))
    return np.asarray(weights / weights.sum(1, keepdims=True))


def sample_of(
    attention: Sequence[Sequence[np.ndarray]],
    *,
    trees: bool = False,
    documents: int = DOCUMENTS,
    facts: VocabularyFacts | None = None,
    catalog: Catalog = CATALOG,
) -> RowSample:
    """Return the rows of heads with their columns; `explained` documents the arguments."""
    samples, contexts = [], {}
    for number, each in enumerate(inputs()[:documents]):
        heads = np.stack([head[number] for head in attention])
        weights = np.full((2, 1, *heads.shape[:2], heads.shape[2] + 1), np.nan, dtype=np.float32)
        weights[0, 0, :, :, :-1] = heads
        segment = KeptSegment(each.tokens, each.tokens, {})
        samples.append(SampledRows(f"document {number:02}", 0, segment, each.rows, weights))
        contexts[f"document {number:02}"] = each
    return row_sample(
        samples,
        list(catalog.features.values()),
        lambda sample, visible: context(contexts[sample.document], visible, trees=trees, facts=facts),
        seed=0,
    )


def explained(
    attention: Sequence[Sequence[np.ndarray]],
    *,
    trees: bool = False,
    documents: int = DOCUMENTS,
    facts: VocabularyFacts | None = None,
    catalog: Catalog = CATALOG,
) -> list[tuple[dict, dict[str, float]]]:
    """Return each head's row of the table, and the share of each of its groups.

    Args:
        attention: `[head][input]` of `[row, key]`.
        trees: whether the trees are known.
        documents: number of inputs to use.
        facts: facts on the tokens; by default those of `vocabulary`.
        catalog: features and groups.
    """
    sample = sample_of(attention, trees=trees, documents=documents, facts=facts, catalog=catalog)
    of = {"kind": "encoder", "layer": 1, "measure": WEIGHT, "model": "trained"}
    (heads,) = explain(sample, 1, (WEIGHT,), catalog=catalog)[WEIGHT]
    columns = sample.columns
    names = WordNames(vocabulary() if facts is None else facts, counts(), columns)
    rows, groups = head_rows(of, heads, names=names, special=Special(), catalog=catalog)
    of_groups = {(group["head"], group["group"]): group["share"] for group in groups}
    return [
        (row, {group: of_groups[row["head"], group] for group in head.gained})
        for row, head in zip(rows, heads, strict=True)
    ]


def shares(attention: Sequence[np.ndarray], groups: Sequence[Sequence[np.ndarray]]) -> list[float]:
    """Return the share that each group adds to the explained share in turn, fitted by scipy on all rows.

    Args:
        attention: attention of each input, `[row, key]`.
        groups: features of each group in order, `[group][feature]`, a list of all inputs' `[row, key]` arrays.
    """
    entropy = sum(float((a * np.log(np.maximum(a, 1e-300))).sum()) for a in attention)
    uniform = entropy + sum(len(a) * np.log(a.shape[1]) for a in attention)
    result, before, columns = [], 1.0, []
    for group in groups:
        columns += list(group)

        def loss(coefficients, columns=tuple(columns)):
            total = entropy
            for at, weights in enumerate(attention):
                logits = sum(c * column[at] for c, column in zip(coefficients, columns, strict=True))
                top = logits.max(1, keepdims=True)
                log_p = logits - top - np.log(np.exp(logits - top).sum(1, keepdims=True))
                total -= float((weights * log_p).sum())
            return total / uniform

        left = minimize(loss, np.zeros(len(columns)), method="L-BFGS-B").fun
        result.append(before - left)
        before = left
    return result
