"""The behaviors stage: every head's numbers in text, and the head that is chosen for each behavior."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.behaviors.catalog import NAMES, NATURAL, SHARES, delimiters_of, delimiters_of_run
from headscope.analyses.behaviors.copy_examples import copy_examples
from headscope.analyses.behaviors.sums import BehaviorAccumulator, NormBehaviorAccumulator
from headscope.analyses.behaviors.tables import BEHAVIORS_BEST, BEHAVIORS_TABLE, COPY_EXAMPLES, best_columns
from headscope.analyses.measurement import Measurement, StageResult, notes_on, notes_on_left_out
from headscope.scans.prepare.drawn_inputs import control_text
from headscope.scans.prepare.maps_run import MapsRun
from headscope.scans.prepare.prepared_run import ModelRun, Run
from headscope.scans.scan_declaration import RunText, Scan, ScanSums
from headscope.statistics.inference.confidence import Interval, ends_of, mapped, ratio_interval
from headscope.statistics.inference.derived import HeadMeans
from headscope.statistics.inference.selection import Chosen, held_out, same_data
from headscope.statistics.inference.significance import LARGE_SHARE, TIMES_UNIFORM, passing
from headscope.statistics.tables.frames import WEIGHT, head_table, interval_arrays


class BehaviorsMeasurement(Measurement[Run]):
    """Measures every behavior of every head, for the model and its controls; saved maps have no controls."""

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of the text, and the scans of a part of it with random weights."""
        run, trained = self.run, accumulator_of(self.run)
        yield Scan(RunText(run), [trained], label="behaviors")
        if not isinstance(run, ModelRun):
            return
        for seed in range(run.controls):
            inputs = control_text(run, control=seed)
            control = NormBehaviorAccumulator(run.layout, trained.delimiters)
            label = f"behaviors: control {seed + 1} of {run.controls}"
            yield Scan(inputs, [control], f"control-{seed}", label=label)

    def compute(self, sums: ScanSums) -> StageResult:
        """Compute the tables of all heads, and of the best head of each behavior; a few inputs are read again."""
        trained, seed = sums.of(BehaviorAccumulator), self.run.options.seed
        tables = [model_tables(trained.compute(), NATURAL, None, seed=seed)]
        for number in range(len(sums) - 1):
            control = sums.of(BehaviorAccumulator, f"control-{number}")
            tables.append(model_tables(control.compute(), NATURAL, number, seed=seed))
        heads, best = (pd.concat(of_models, ignore_index=True) for of_models in zip(*tables, strict=True))
        examples = pd.DataFrame(columns=COPY_EXAMPLES.names)  # saved maps have no examples
        if isinstance(self.run, ModelRun):
            examples = copy_examples(self.run, self.run.few_inputs)
        return StageResult(
            name="behaviors",
            tables={
                "behaviors": heads[BEHAVIORS_TABLE.names],
                "behaviors_best": best[BEHAVIORS_BEST.names],
                "copy_examples": examples,
            },
            notes=notes_on("behaviors", *norm_notes(trained)),
            state=trained.state(),
        )


def accumulator_of(run: Run) -> BehaviorAccumulator:
    """Return an empty accumulator with the delimiters of the run's tokenizer; words of saved maps have none."""
    if isinstance(run, ModelRun):
        return NormBehaviorAccumulator(run.layout, delimiters_of_run(run))
    assert isinstance(run, MapsRun)  # saved maps hold no values, so that norms are not known
    by_word = run.signature["options"]["word_level"] is not None
    sides = [side for entry in run.entries for side in (entry.input, entry.decoder) if side is not None and not by_word]
    named = {number: token for side in sides for number, token in zip(side.ids, side.tokens, strict=True)}
    return BehaviorAccumulator(run.layout, delimiters_of(named), same_ids=not by_word)


def norm_notes(sums: BehaviorAccumulator, *, where: str = "") -> Iterator[str]:
    """Yield notes on kinds of attention without norms, and on rows that are left out; none for sums of weights alone.

    Args:
        sums: accumulator after a scan.
        where: words that name the rows: `over shuffled words`; empty for all rows of the text.
    """
    if isinstance(sums, NormBehaviorAccumulator):
        for kind in sums.unknown:
            yield (
                f"{kind} heads are measured by where they look alone, for no linear map takes their attention's output "
                "as it is"
            )
        yield from notes_on_left_out(sums.left_out, "norm-weighted behaviors", where=where)


def heads_table(results: Sequence[HeadMeans], names: Sequence[str]) -> pd.DataFrame:
    """Return every head's behaviors: `kind layer head measure behavior value ci_low ci_high uniform n_rows shows`.

    Layers and heads are 1-based; a missing head is the mean over the layer's heads. A behavior that cannot occur is NaN
    with `n_rows` = 0; bounds are NaN with fewer than 10 documents.

    Args:
        results: results of each kind of attention and measure.
        names: behaviors, in order.
    """
    columns = [NAMES.index(name) for name in names]
    tables = []
    for means in results:
        # Verdicts exist only for shares of single heads, not for a layer's mean or for distances.
        shows = np.full(means.n[..., columns].shape, None, dtype=object)
        for index, name in enumerate(names):
            if name in SHARES:
                shows[:, :-1, index] = verdicts(means, columns[index])
        values = interval_arrays(mapped(means.values, lambda ends: ends[..., columns]))
        more = {"uniform": means.uniform[:, None, columns], "n_rows": means.n[..., columns], "shows": shows}
        axes = {"behavior": names}
        table = head_table(values | more, axes, mean_last=True, kind=means.kind, measure=means.measure)
        tables.append(table.astype({"shows": "boolean"}))
    return pd.concat(tables, ignore_index=True)


def best_table(results: Sequence[HeadMeans], names: Sequence[str], *, seed: int) -> pd.DataFrame:
    """Return the head of each kind that is chosen for each behavior, by held-out selection.

    `value` is the chosen head's value on held-out documents (`derived.cross_fitted`), `all_documents` that on all
    documents. Where nothing can be held out (one document), the head is chosen on the whole document, and `share`,
    `held_out` and `all_documents` are NaN.

    Args:
        results: results of each kind of attention and measure; heads are chosen by weights.
        names: behaviors; those that are not a share have no best head.
        seed: seed of the splits.
    """
    rows: list[dict[str, Any]] = []
    for result in results:
        if result.measure != WEIGHT:
            continue
        for name in (name for name in names if name in SHARES):
            column = NAMES.index(name)
            if not result.n[..., column].any():
                continue
            shows = verdicts(result, column)
            chosen = chosen_head(result, column, seed=seed)
            layer, head = divmod(int(chosen.candidate[0]), result.sums.shape[2])
            position = (layer, head, column)
            cross_fitted = not np.isnan(chosen.share[0])
            rows.append(
                {
                    "kind": result.kind,
                    "behavior": name,
                    "layer": layer + 1,
                    "head": head + 1,
                    **chosen.columns(0),
                    **(ends_of(chosen.value, 0) if cross_fitted else ends_of(result.values, position)),
                    **(ends_of(result.values, position, "all_documents", "all_documents_") if cross_fitted else {}),
                    "uniform": float(result.uniform[layer, column]),
                    "n_rows": int(result.n[position]),
                    "shows": shows[layer, head],
                }
            )
    columns = ["kind", *(column.name for column in best_columns(tuple(names)))]
    return pd.DataFrame(rows, columns=columns).astype({"shows": "boolean"})


def verdicts(result: HeadMeans, column: int) -> NDArray[np.object_]:
    """Return for each head True if it shows a behavior, `[layer, head]`; None where nothing was tested.

    Args:
        result: result of one kind of attention.
        column: index in `NAMES` of a behavior that is a share.
    """
    sums, rows = result.sums[..., column], result.counts[..., column]
    return passing(
        lambda confidence: ratio_interval(sums, rows, scale="share", confidence=confidence),
        lambda shares: stands_out(shares, result.uniform[:, None, column]),
    )


def stands_out(shares: Interval, uniform: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return True where the interval of a share lies above both thresholds, False where there is no interval.

    Args:
        shares: shares of attention, with intervals.
        uniform: shares of uniform attention, broadcastable to `shares`.
    """
    return (shares.low > LARGE_SHARE) & (shares.low > TIMES_UNIFORM * uniform)


def chosen_head(result: HeadMeans, column: int, *, seed: int) -> Chosen:
    """Choose the head with the most weight on a behavior's keys, by held-out selection.

    Layers that see less (sliding windows) have fewer rows in which a behavior can occur: each document's mean is
    weighted by the number of rows in the layer that has the most.

    Args:
        result: result of one kind of attention.
        column: index of the behavior in `NAMES`.
        seed: seed of the splits.
    """
    sums, rows = result.sums[..., column], result.counts[..., column].astype(np.float64)
    most_rows = rows.max((1, 2))
    factors = np.divide(most_rows[:, None, None], rows, out=np.zeros_like(rows), where=rows > 0)
    hits = (sums * factors).reshape(len(sums), -1, 1)
    # A head in which the behavior never occurs must not be chosen: it gets a weight below all others.
    never = np.broadcast_to(~rows.any(0), sums.shape[1:]).reshape(-1)
    hits[:, never] = -1.0
    chosen = held_out(hits, most_rows[:, None], seed=seed)
    return chosen if chosen.candidate[0] >= 0 else same_data(hits, most_rows[:, None])


def model_tables(
    results: Sequence[HeadMeans], names: Sequence[str], number: int | None, *, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables of all heads, and of the chosen heads, with the columns `model` and `seed`.

    Args:
        results: results of each kind of attention and measure.
        names: behaviors, in order.
        number: number of the control; None for the trained model.
        seed: seed of the splits.
    """
    model = "trained" if number is None else "control"
    heads, best = (
        table.assign(model=model, seed=pd.Series([number] * len(table), dtype="Int64"))
        for table in (heads_table(results, names), best_table(results, names, seed=seed))
    )
    return heads, best
