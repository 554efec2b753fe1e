"""The stage of principal directions: a scan of the text, and its tables."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.distribution.examples import PADDING
from headscope.analyses.measurement import Measurement, StageResult, notes_on
from headscope.analyses.pca.sums import BEFORE, PcaAccumulator, PcaResult, SampledTokens
from headscope.analyses.pca.tables import EFFECTIVE, MAP, PCA_TABLE, SHARE_NAMES, TOKENS
from headscope.encoding.tokenizer.token_names import joined_pieces, readable_tokens
from headscope.encoding.vocabulary import KeyClass
from headscope.models.anatomy import KindLayout
from headscope.scans.prepare.prepared_run import ModelRun
from headscope.scans.scan_declaration import RunText, Scan, ScanSums
from headscope.statistics.tables.frames import head_table

UNKNOWN = "the model exposes only its attention weights, not queries, keys and outputs"


class PcaMeasurement(Measurement[ModelRun]):
    """The principal directions of every head's queries, keys and outputs."""

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of the text."""
        vectors = PcaAccumulator(self.run.layout, seed=self.run.options.seed)
        yield Scan(RunText(self.run), [vectors], label="queries, keys and outputs")

    def compute(self, sums: ScanSums) -> StageResult:
        """Return the tables."""
        results = sums.of(PcaAccumulator).compute()
        return StageResult(
            name="pca",
            tables={
                "pca": pca_table(results),
                "pca_map": map_table(results),
                "pca_tokens": tokens_table(self.run, results),
            },
            notes=notes_on("pca", *_lacking(results, self.run.layout)),
        )


def _lacking(results: Sequence[PcaResult], layout: Sequence[KindLayout]) -> Iterator[str]:
    """Yield a note if no layer, or not every layer, has directions."""
    if not any(result.directions for result in results):
        yield UNKNOWN
        return
    for result, part in zip(results, layout, strict=True):
        layers = sorted({layer + 1 for _, layer in result.directions})
        if 0 < len(layers) < part.layers:
            yield (
                f"with this number of heads, only some layers were measured: {', '.join(map(str, layers))} of the "
                f"{part.layers} ({part.kind})"
            )


def pca_table(results: Sequence[PcaResult]) -> pd.DataFrame:
    """Return results as `pca.parquet`: a row for each head, side and statistic, 1-based."""
    tables = [pd.DataFrame(columns=PCA_TABLE.names)] if not any(item.directions for item in results) else []
    for result in results:
        for (side, layer), directions in result.directions.items():
            values = np.concatenate([directions.effective[:, None], directions.shares], axis=1)
            names = (EFFECTIVE, *SHARE_NAMES)[: values.shape[1]]
            columns = {"value": _by_head(values, result.heads)}
            more: dict[str, Any] = {"kind": result.kind, "vectors": side, "n_tokens": directions.n}
            tables.append(head_table(columns, {"statistic": names}, **more).assign(layer=layer + 1))
    return pd.concat(tables, ignore_index=True)[PCA_TABLE.names]


def map_table(results: Sequence[PcaResult]) -> pd.DataFrame:
    """Return the coordinates of the sampled tokens as `pca_map.parquet`: a row for each head, side and token."""
    tables = []
    for result in results:
        for (side, layer), directions in result.directions.items():
            vectors = result.vectors.get((side, layer))
            if vectors is None or not len(vectors):
                continue
            first, *more = np.moveaxis(directions.coordinates(vectors), 2, 0)
            second = more[0] if more else np.full_like(first, np.nan)
            numbers = {"first": first, "second": second, "length": np.linalg.norm(vectors.astype(np.float64), axis=2)}
            columns = {name: _by_head(values.T, result.heads) for name, values in numbers.items()}
            axes = {"token": range(1, len(vectors) + 1)}
            table = head_table(columns, axes, kind=result.kind, vectors=side)
            tables.append(table.assign(layer=layer + 1)[MAP.names])
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=MAP.names)


def tokens_table(run: ModelRun, results: Sequence[PcaResult]) -> pd.DataFrame:
    """Return the tokens on the maps with the words around them, as `pca_tokens.parquet`."""
    rows = [
        {"kind": result.kind, "axis": axis, **row}
        for result in results
        for axis, sample in result.samples.items()
        for row in _tokens(run, sample)
    ]
    return pd.DataFrame(rows, columns=TOKENS.names)


def _tokens(run: ModelRun, sample: SampledTokens) -> Iterator[dict[str, object]]:
    for index, (token, (document, segment)) in enumerate(zip(sample.tokens, sample.segments, strict=True)):
        ids: NDArray[np.int64] = token["ids"].astype(np.int64)
        there = ids != PADDING
        yield {
            "token": index + 1,
            "document": document,
            "segment": segment,
            "position": int(token["position"]),
            "token_class": KeyClass(int(token["class"])).name.lower(),
            "start": int(token["position"]) - BEFORE + int(there.argmax()),
            "tokens": readable_tokens(run.loaded.tokenizer, ids[there]),
            "continues_word": joined_pieces(run.loaded.tokenizer, ids[there]),
        }


def _by_head(values: NDArray[np.float64], heads: int) -> NDArray[np.float64]:
    """Repeat the values of heads that share keys, `[group, ...]`, for each head, `[1, head, ...]`."""
    return np.repeat(values, heads // len(values), axis=0)[None]
