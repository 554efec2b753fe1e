"""The stage of principal directions: one scan of the text, and its tables."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.distribution.hash_sample import PADDING
from headscope.analyses.pca.accumulator import (
    KEY,
    ROW,
    SIDES,
    DirectionResult,
    PcaAccumulator,
)
from headscope.analyses.pca.tables import EFFECTIVE, MAP, PCA_TABLE, SHARE_NAMES, TOKENS
from headscope.analyses.pca.token_sample import BEFORE
from headscope.analyses.stage_result import StageResult, notes_on
from headscope.encoding.readable import joined_pieces, readable_tokens
from headscope.encoding.vocabulary import KeyClass
from headscope.models.anatomy import KindLayout
from headscope.prepare.model_run import ModelRun
from headscope.prepare.prepared_run import Stream
from headscope.prepare.progress import Watcher
from headscope.prepare.shared_scan import read_text

UNKNOWN = "the model hands out its weights alone, so that queries, keys and outputs are not known"


def measure_pca(run: ModelRun, watch: Watcher | None = None) -> StageResult:
    """Find the directions in which every head's queries, keys and outputs vary.

    Args:
        run: of a model over text.
        watch: told of progress.
    """
    results = scan_pca(run, watch).compute()
    return StageResult(
        name="pca",
        tables={
            "pca": pca_table(results),
            "pca_map": map_table(results),
            "pca_tokens": tokens_table(run, results),
        },
        notes=notes_on("pca", *_lacking(results, run.layout)),
    )


def scan_pca(run: Stream, watch: Watcher | None = None) -> PcaAccumulator:
    """Sum the vectors of the text's tokens."""
    (sums,) = direction_sums(run)
    read_text(run, [sums], stage="pca", said="queries, keys and outputs", watch=watch)
    return sums


def direction_sums(run: Stream) -> tuple[PcaAccumulator]:
    """Return what the stage keeps of the text."""
    return (PcaAccumulator(run.layout, seed=run.options.seed),)


def _lacking(results: Sequence[DirectionResult], layout: Sequence[KindLayout]) -> Iterator[str]:
    """Yield what is to be said of layers that have no directions."""
    if not any(result.found for result in results):
        yield UNKNOWN
        return
    for result, part in zip(results, layout, strict=True):
        layers = sorted({layer + 1 for _, layer in result.found})
        if 0 < len(layers) < part.layers:
            yield (
                f"of so many heads some layers alone were measured: {', '.join(map(str, layers))} of the {part.layers} "
                f"({part.kind})"
            )


def pca_table(results: Sequence[DirectionResult]) -> pd.DataFrame:
    """Lay results out as `directions.parquet`: a row for each head, side and statistic, 1-based."""
    parts = [pd.DataFrame(columns=PCA_TABLE.names)] if not any(one.found for one in results) else []
    for result in results:
        for (side, layer), own in sorted(result.found.items(), key=lambda one: _order(one[0])):
            values = np.concatenate([own.effective[:, None], own.shares], axis=1)
            names = (EFFECTIVE, *SHARE_NAMES)[: values.shape[1]]
            by_head = _by_head(values, result.heads)
            head, place = np.indices(by_head.shape).reshape(2, -1)
            parts.append(
                pd.DataFrame(
                    {
                        "kind": result.kind,
                        "layer": layer + 1,
                        "head": head + 1,
                        "vectors": side,
                        "statistic": np.array(names, dtype=object)[place],
                        "value": by_head.reshape(-1),
                        "n": own.n,
                    }
                )
            )
    return pd.concat(parts, ignore_index=True)


def map_table(results: Sequence[DirectionResult]) -> pd.DataFrame:
    """Lay the drawn tokens out as `pca_map.parquet`: a row for each head, side and token."""
    parts = []
    for result in results:
        for (side, layer), own in sorted(result.found.items(), key=lambda one: _order(one[0])):
            vectors = result.vectors.get((side, layer))
            if vectors is None or not len(vectors):
                continue
            exact = vectors.astype(np.float64)
            places = own.coordinates(vectors)
            second = places[..., 1] if places.shape[2] > 1 else np.full(places.shape[:2], np.nan)
            told = np.stack([places[..., 0], second, np.linalg.norm(exact, axis=2)], axis=2)
            by_head = _by_head(told.transpose(1, 0, 2), result.heads)
            head, token = np.indices(by_head.shape[:2]).reshape(2, -1)
            first, second, length = by_head.reshape(-1, 3).T
            parts.append(
                pd.DataFrame(
                    {
                        "kind": result.kind,
                        "layer": layer + 1,
                        "head": head + 1,
                        "vectors": side,
                        "token": token + 1,
                        "first": first,
                        "second": second,
                        "length": length,
                    }
                )
            )
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=MAP.names)


def tokens_table(run: ModelRun, results: Sequence[DirectionResult]) -> pd.DataFrame:
    """Lay the tokens on the maps out as `pca_tokens.parquet`, with the words around them."""
    rows = [row for result in results for axis in (ROW, KEY) for row in _tokens(run, result, axis)]
    return pd.DataFrame(rows, columns=TOKENS.names)


def _tokens(run: ModelRun, result: DirectionResult, axis: str) -> Iterator[dict[str, object]]:
    drawn = result.drawn.get(axis)
    if drawn is None:
        return
    for place, (token, (document, segment)) in enumerate(zip(drawn.tokens, drawn.segments, strict=True)):
        ids: NDArray[np.int64] = token["ids"].astype(np.int64)
        there = ids != PADDING
        yield {
            "kind": result.kind,
            "axis": axis,
            "token": place + 1,
            "document": document,
            "segment": segment,
            "position": int(token["position"]),
            "token_class": KeyClass(int(token["class"])).name.lower(),
            "start": int(token["position"]) - BEFORE + int(there.argmax()),
            "tokens": readable_tokens(run.loaded.tokenizer, ids[there]),
            "joined": joined_pieces(run.loaded.tokenizer, ids[there]),
        }


def _by_head(values: NDArray[np.float64], heads: int) -> NDArray[np.float64]:
    """Return values of groups of heads, `[group, ...]`, once for each head."""
    return np.repeat(values, heads // len(values), axis=0)


def _order(place: tuple[str, int]) -> tuple[int, int]:
    side, layer = place
    return layer, SIDES.index(side)
