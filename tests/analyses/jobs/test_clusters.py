"""Which clusters are jobs: on features made by hand, and by scikit-learn's own measure; smooth decays are none."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from headscope.analyses.jobs.clustering import clusters, separation
from headscope.analyses.jobs.clustering.clusters import HeadRows, halves_of, job_clusters
from headscope.analyses.jobs.features import FEATURES


def rows(number, **columns):
    """Features of so many rows; what is not given is 0."""
    found = np.zeros((number, len(FEATURES)))
    for name, values in columns.items():
        found[:, FEATURES.index(name.replace("_", " "))] = values
    return found


def head(features, *, square=True, documents=30):
    """A head with these rows, dealt to so many documents."""
    return HeadRows(
        features=features,
        used=np.ones(len(FEATURES), dtype=bool),
        documents=np.arange(len(features)) % documents,
        square=square,
    )


def jobs_of(features, **how):
    """The jobs of one head."""
    return job_clusters([head(features, **how)], seed=0)[0]


RNG = np.random.default_rng(3)


def test_two_jobs_are_two():
    """A third of the rows looks back one token, the others at the same token far before."""
    truth = np.arange(900) % 3 > 0
    far = np.log2(1 + RNG.integers(5, 100, 900))
    found = jobs_of(rows(900, offset=np.where(truth, far, 1.0), side=1, same_id=truth))
    assert found.number == 2
    np.testing.assert_array_equal(found.labels == 0, truth)  # the larger is the first
    assert found.agreement > 0.99


def test_three_jobs_are_three():
    job = np.arange(1200) % 3
    far = np.log2(1 + RNG.integers(5, 100, 1200))
    made = rows(
        1200,
        offset=np.select([job == 0, job == 1], [far, 1.0], 1.0),
        side=np.select([job == 0, job == 1], [1, 1], -1),
        after_copy=job == 0,
    )
    found = jobs_of(made)
    assert found.number == 3
    assert adjusted_rand_score(job, found.labels) == 1.0


def far_keys(number):
    """Keys at no one place: anywhere before the row."""
    return {"offset": np.log2(1 + RNG.integers(1, 200, number)), "side": 1}


def noise(number):
    """What is written along further directions, where nothing lies apart."""
    return {f"output_{place}": RNG.normal(size=number) for place in range(2, 9)}


def test_two_jobs_are_told_apart_by_what_they_write_alone():
    truth = np.arange(900) % 3 > 0
    output = np.where(truth, -1.0, 2.0) + RNG.normal(0, 0.1, 900)
    found = jobs_of(rows(900, **far_keys(900), **noise(900), output_1=output))
    assert (found.number, found.by_output) == (2, True)
    np.testing.assert_array_equal(found.labels == 0, truth)
    # Looking back one token is one job, whatever is written of what stands there.
    assert jobs_of(rows(900, offset=1, side=1, **noise(900), output_1=output)).number == 1
    # Where rows and keys are other tokens, nothing but what is written is known.
    across = jobs_of(rows(900, **noise(900), output_1=output), square=False)
    np.testing.assert_array_equal(across.labels == 0, truth)


@pytest.mark.parametrize(("one", "other"), [(0, 4), (1, 4), (0, 20)])
def test_tokens_with_a_gap_between_are_two_jobs(one, other):
    """The token itself, or the one before, and one further than the next."""
    truth = np.arange(600) % 3 == 0
    made = rows(600, offset=np.log2(1 + np.where(truth, one, other)), side=np.where(truth, min(one, 1), 1))
    np.testing.assert_array_equal(jobs_of(made).labels == 1, truth)


def test_what_is_written_hides_no_jobs_that_looks_tell():
    job = np.arange(1200) % 12 == 0
    made = rows(1200, offset=1.0, side=np.where(job, -1, 1), output_1=RNG.normal(size=1200), **noise(1200))
    found = jobs_of(made)
    assert (found.number, found.by_output) == (2, False)
    np.testing.assert_array_equal(found.labels == 1, job)


@pytest.mark.parametrize(
    "made",
    [
        rows(500, offset=1, side=1),
        # What stands one token before differs; what the head does is the same.
        rows(500, offset=1, side=1, key_period_or_comma=RNG.random(500) < 0.3),
        # What is spread without a gap is not cut.
        rows(500, offset=np.log2(1 + RNG.integers(1, 200, 500)), side=1),
        rows(500, offset=RNG.normal(4, 1, 500), side=1),
        # What is written without a gap tells no jobs.
        rows(500, **far_keys(500), **noise(500), output_1=RNG.normal(size=500)),
        # A token more or less is no gap.
        rows(500, offset=np.log2(1 + RNG.choice([1, 2, 3], 500)), side=1),
        # Looking at copies is one job, whatever they are and write.
        rows(500, **far_keys(500), same_id=1, output_1=RNG.choice([-1.0, 1.0], 500), **noise(500)),
        # What few rows do is no job.
        rows(500, offset=np.where(np.arange(500) < 15, 6, 1), side=np.where(np.arange(500) < 15, -1, 1)),
    ],
    ids=["constant", "punctuation", "even", "normal", "written", "near", "copies", "few"],
)
def test_one_job_is_one(made):
    found = jobs_of(made)
    assert found.number == 1
    assert not found.labels.any()
    assert np.isnan(found.agreement)


def test_the_agreement_is_that_of_scikit_learn_on_the_halves():
    one, *_ = drawn = [RNG.integers(0, 3, 300) for _ in range(4)]
    expected = (adjusted_rand_score(*drawn[:2]) + adjusted_rand_score(*drawn[2:])) / 2
    assert clusters._agreement(drawn) == pytest.approx(expected)
    assert clusters._agreement([one, (one + 1) % 3] * 2) == 1.0


def test_halves_are_of_documents():
    documents = RNG.integers(0, 31, 500)
    for half in halves_of(documents, seed=4):
        inside, outside = set(documents[half]), set(documents[~half])
        assert not inside & outside
        assert {len(inside), len(outside)} == {15, 16}


@pytest.mark.parametrize(("agreement", "number"), [(0.0, 1), (0.75, 1), (0.76, 2)])
def test_clusters_that_halves_do_not_agree_on_are_no_jobs(monkeypatch, agreement, number):
    truth = np.arange(600) % 2
    monkeypatch.setattr(clusters, "_agreement", lambda labels: agreement)
    assert jobs_of(rows(600, offset=1, side=2 * truth - 1)).number == number


def smooth(world, number, rng):
    """Tokens away, drawn without a gap; the token itself among them."""
    drawn = {
        "geometric": lambda: rng.exponential(6, number),
        "half-normal": lambda: np.abs(rng.normal(0, 6, number)),
        "log-uniform": lambda: np.exp2(rng.uniform(0, 6, number)) - 1,
        "uniform": lambda: rng.uniform(0, 11, number),
    }[world]()
    return np.floor(drawn).astype(int)


@pytest.mark.parametrize("both", [False, True], ids=["back", "both sides"])
@pytest.mark.parametrize("world", ["geometric", "half-normal", "log-uniform", "uniform"])
def test_a_smooth_decay_is_one_job(world, both):
    """The token itself is no gap, on one side or between two."""
    heads = []
    for turn in range(8):
        rng = np.random.default_rng([turn, both])
        away = smooth(world, 1200, rng)
        side = np.sign(away) * (rng.choice([-1, 1], 1200) if both else 1)
        heads.append(
            head(rows(1200, offset=np.log2(1 + away), side=side, output_1=rng.normal(size=1200), **noise(1200)))
        )
    assert [found.p < 0.05 for found in job_clusters(heads, seed=0)] == [False] * 8


def test_a_head_with_two_jobs_is_found_among_many_with_one():
    heads = [head(rows(800, offset=np.log2(1 + smooth("geometric", 800, RNG)), side=1)) for _ in range(20)]
    truth = np.arange(800) % 4 == 0
    heads[7] = head(rows(800, offset=np.where(truth, 5.0, 1.0), side=1))
    found = job_clusters(heads, seed=0)
    assert [clusters.number for clusters in found] == [2 if place == 7 else 1 for place in range(20)]
    np.testing.assert_array_equal(found[7].labels == 1, truth)
    assert found[7].p < found[7].q < 0.05
    assert all(clusters.q > 0.05 for place, clusters in enumerate(found) if place != 7)


def test_a_split_that_many_heads_might_show_by_chance_is_none(monkeypatch):
    """What is significant for one head alone is not among twenty."""
    truth = np.arange(400) % 3 == 0
    split = rows(400, offset=np.where(truth, 5.0, 1.0), side=1)
    same = rows(400, offset=1.0, side=1)
    monkeypatch.setattr(clusters, "_split_p", lambda *args: 0.04 / 5)
    (alone,) = job_clusters([head(split)], seed=0)
    among = job_clusters([head(split), *[head(same)] * 19], seed=0)[0]
    assert (alone.number, alone.p, alone.q) == (2, 0.04, 0.04)
    assert (among.number, among.p, among.q) == (1, 0.04, pytest.approx(0.8))
    assert not among.labels.any()


def test_of_fewer_than_ten_documents_nothing_is_tested():
    truth = np.arange(900) % 3 > 0
    made = rows(900, offset=np.where(truth, 5.0, 1.0), side=1)
    assert jobs_of(made, documents=10).number == 2
    found = jobs_of(made, documents=9)
    assert found.number == 1
    assert np.isnan(found.q)


def test_how_far_apart_two_clusters_lie():
    one, other = RNG.normal(size=(4000, 2)), RNG.normal(size=(4000, 2)) * [1, 3] + [5, 0]
    # Along the line between them only the first feature counts.
    assert separation._distance(one, other) == pytest.approx(5.0, rel=0.05)
    even = RNG.random((100000, 1))
    halves = even[even[:, 0] < 0.5], even[even[:, 0] >= 0.5]
    assert separation._distance(*halves) == pytest.approx(np.sqrt(12), rel=0.01)
    assert separation._distance(one, one) == 0.0
