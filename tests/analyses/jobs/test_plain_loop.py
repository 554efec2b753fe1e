"""Jobs from the embedded model and a real text to their tables, against transformers' eager attention in float64, plain
counting, and scikit-learn."""

from collections import Counter
from copy import deepcopy
from math import log, log2, sqrt

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from headscope.analyses.jobs.active_rows import ActiveRowAccumulator
from headscope.analyses.jobs.head_jobs import head_jobs
from headscope.analyses.jobs.job_tables import job_tables
from headscope.analyses.jobs.measure import JobsMeasurement
from headscope.analyses.jobs.tables import TEXT
from headscope.declarations.run_options import RunOptions
from headscope.encoding.vocabulary import KeyClass
from headscope.prepare.prepared_run import prepare
from headscope.scans.scan_runner import ScanRunner
from support.plain_vectors import plain_vectors
from support.shared_data import data

pytestmark = pytest.mark.slow

NEAR = 1e-5
"""Weights that differ by less may come out either way round in float32."""


@pytest.fixture(scope="module")
def run():
    text = str(data("wikitext-2/valid.txt"))
    return prepare(RunOptions(text=(text,), max_inputs=10, stages=("jobs",)))


@pytest.fixture(scope="module")
def found(run):
    text_scan = next(JobsMeasurement(run).scans())
    (kept,) = ScanRunner().run("jobs", [text_scan]).of(ActiveRowAccumulator).compute()
    return kept, list(head_jobs(kept, seed=0))


@pytest.fixture(scope="module")
def plain(run):
    """Every row but special ones of every head: by head (layer, head; from 1) and (document, segment, row), a dict."""
    segments = [segment for batch in run.batches(8) for segment in batch]
    model = getattr(run.loaded.model, run.loaded.model.base_model_prefix, run.loaded.model)
    outputs = plain_vectors(model, run.encoder.vocabulary, segments)
    exact = deepcopy(model).double().eval()
    exact.set_attn_implementation("eager")
    special = {run.loaded.tokenizer.cls_token_id, run.loaded.tokenizer.sep_token_id}
    rows = {}
    for number, segment in enumerate(segments):
        ids, classes = segment.ids.tolist(), run.encoder.vocabulary.of(segment.ids)
        words = [at for at in range(len(ids)) if ids[at] not in special]
        with torch.inference_mode():
            given = {"input_ids": [ids], "token_type_ids": [segment.token_types.tolist()]}
            answer = exact(**{name: torch.tensor(of) for name, of in given.items()}, output_attentions=True)
        sorts = {
            row: [
                (
                    ids[at] == ids[row] and at != row,
                    0 < at < row and ids[at - 1] == ids[row],
                    classes[at] == KeyClass.PERIOD_COMMA,
                    classes[at] == KeyClass.OTHER_PUNCTUATION,
                )
                for at in words
            ]
            for row in words
        }
        even = {row: [sum(column) / len(words) for column in zip(*own)] for row, own in sorts.items()}
        for layer, weights in enumerate(answer.attentions):
            for head, own in enumerate(weights[0].numpy()):
                for row in words:
                    line = own[row, words]
                    key = words[int(line.argmax())]
                    looks = [log2(1 + abs(row - key)), float(np.sign(row - key))]
                    rows.setdefault((layer + 1, head + 1), {})[segment.document, segment.index, row] = {
                        "active": float(line.sum()),
                        "key": key,
                        "doubtful": len(line) > 1 and np.sort(line)[-1] - np.sort(line)[-2] < NEAR,
                        "ids": {"row": ids[row], "key": ids[key]},
                        "looks": [*looks, *map(float, sorts[row][words.index(key)])],
                        "even": even[row],
                        "output": outputs[number][layer]["output"][head, row].numpy(),
                    }
    return rows


def names_of(kept, places):
    """Document, segment and position of rows of the sample."""
    return [(*kept.segments[int(one["segment"])], int(one["row"])) for one in kept.rows[places]]


def test_the_rows_are_the_active_ones_with_their_keys(found, plain):
    kept, _ = found
    for head, rows in plain.items():
        place = (head[0] - 1) * 12 + head[1] - 1
        own = np.flatnonzero(kept.rows["cell"] == place)
        assert kept.active[head[0] - 1, head[1] - 1] == len(own) <= 2048  # all are in the sample
        named = names_of(kept, own)
        expected = {name for name, row in rows.items() if row["active"] > 0.5}
        assert all(abs(rows[name]["active"] - 0.5) < NEAR for name in expected ^ set(named))
        for name, one in zip(named, kept.rows[own]):
            row = rows[name]
            assert row["key"] == one["key"] or row["doubtful"]
            np.testing.assert_allclose(one["output"][: len(row["output"])], row["output"], atol=1e-4)


def test_shares_are_counted_and_clusters_are_scikit_learns(found, plain):
    kept, jobs = found
    by_head = {}
    for job in jobs:
        by_head.setdefault((job.layer, job.head), []).append(job)
    alike = []
    for head, own in by_head.items():
        rows = [(name, job.job) for job in own for name in names_of(kept, job.rows)]
        assert len(rows) == len(set(rows)) == own[0].n_rows
        for job in own:
            assert float(job.share.value) == pytest.approx(sum(of == job.job for _, of in rows) / len(rows))
            assert len(own) == 1 or (job.share.value >= 0.05 and job.agreement > 0.75)
        if len(own) > 1:
            labels = [of for _, of in rows]
            fits = clustered([plain[head][name] for name, _ in rows], number=len(own))
            alike.append(max(adjusted_rand_score(labels, fit) for fit in fits))
    # From other starts k-means may end elsewhere, no further than halves of the rows do.
    assert len(alike) > 5
    assert min(alike) > 0.75
    assert np.mean(np.array(alike) > 0.97) > 0.85


def clustered(rows, *, number):
    """What scikit-learn makes of rows: by where and at what they look, and by what they write beside."""
    looks, even = (np.array([row[name] for row in rows]) for name in ("looks", "even"))
    columns = []
    for place, column in enumerate(looks.T):
        sort = place - 2
        chance = sort >= 0 and column.mean() < 2 * even[:, sort].mean()
        most = max(Counter(column.tolist()).values())
        if chance or len(column) - most < 0.05 * len(column) or (place == 1 and one_hump(looks)):
            continue
        if place == 0:  # whole tokens, spread to half a token on either side
            drawn = np.random.default_rng(7).uniform(-0.5, 0.5, len(column))
            column = np.where(column > 0, np.log2(2**column + drawn), 0)
        columns.append((column - column.mean()) / column.std())
    written = PCA(8).fit_transform(np.array([row["output"] for row in rows]))
    written /= written[:, 0].std()
    for given in (columns, [*columns, *written.T]):
        if given:
            fit = KMeans(number, n_init=40, random_state=9).fit(np.stack(given, axis=1))
            yield fit.labels_


def one_hump(looks):
    """Whether keys on either side of their rows lie without a gap."""
    tokens, side = 2 ** looks[:, 0] - 1, looks[:, 1]
    sides = [np.quantile(tokens[side == one], (0.25, 0.5, 0.75)) for one in (1, -1) if (side == one).any()]
    if len(sides) < 2:
        return False
    spread = np.mean([high - low for low, _, high in sides]) / 1.349
    return sides[0][1] + sides[1][1] < 4 * spread


def test_tokens_are_those_of_the_formula(run, found, plain):
    kept, jobs = found
    tables = job_tables(run, {TEXT: [found]})
    all_rows = [(place // 12 + 1, place % 12 + 1) for place in kept.rows["cell"].tolist()]
    named = names_of(kept, slice(None))
    counted = {}
    for side in ("row", "key"):
        ids = [plain[head][name]["ids"][side] for head, name in zip(all_rows, named)]
        # In doubtful rows the key is the one that float32 found.
        if side == "key":
            ids = kept.rows["key_id"].tolist()
        counted[side] = ids
    several = 0
    for job in jobs[::7] + [job for job in jobs if job.jobs > 1][:4]:
        several += job.jobs > 1
        inside = set(job.rows.tolist())
        for side, ids in counted.items():
            here, there = Counter(), Counter()
            for place, token in enumerate(ids):
                if place in inside:
                    here[token] += 1
                elif job.jobs == 1 or all_rows[place] == (job.layer, job.head):
                    there[token] += 1
            everywhere = Counter(ids)
            scores = []
            for token, count in everywhere.items():
                alpha = 500 * count / len(ids)
                odds = [log((y[token] + alpha) / (sum(y.values()) + 500 - y[token] - alpha)) for y in (here, there)]
                error = sqrt(sum(1 / (y[token] + alpha) for y in (here, there)))
                scores.append(((odds[0] - odds[1]) / error, odds[0] - odds[1], here[token]))
            best = [one for one in sorted(scores, reverse=True)[:5] if one[0] > 3 and one[2] > 0]
            own = tables["job_tokens"].query(
                f"layer == {job.layer} and head == {job.head} and job == {job.job} and side == '{side}'"
            )
            told = own.sort_values("rank")[["z", "log_odds", "n_rows"]].to_numpy()
            np.testing.assert_allclose(told, np.array(best).reshape(-1, 3), rtol=1e-9)
    assert several > 2
