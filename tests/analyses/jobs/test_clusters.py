"""Which clusters are jobs: on features made by hand, and by scikit-learn's own measure."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from headscope.analyses.jobs import apart, clusters
from headscope.analyses.jobs.clusters import AGREEMENT, job_clusters
from headscope.analyses.jobs.features import FEATURES


def rows(number, **columns):
    """Features of so many rows; what is not given is 0."""
    found = np.zeros((number, len(FEATURES)))
    for name, values in columns.items():
        found[:, FEATURES.index(name.replace("_", " "))] = values
    return found


RNG = np.random.default_rng(3)


def test_two_jobs_are_two():
    """A third of the rows looks back one token, the others at the same token far before."""
    truth = np.arange(900) % 3 > 0
    far = np.log2(1 + RNG.integers(5, 100, 900))
    found = job_clusters(rows(900, offset=np.where(truth, far, 1.0), side=1, same_id=truth), seed=0)
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
    found = job_clusters(made, seed=0)
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
    found = job_clusters(rows(900, **far_keys(900), **noise(900), output_1=output), seed=0)
    assert (found.number, found.by_output) == (2, True)
    np.testing.assert_array_equal(found.labels == 0, truth)
    # Looking back one token is one job, whatever is written of what stands there.
    assert job_clusters(rows(900, offset=1, side=1, **noise(900), output_1=output), seed=0).number == 1
    # Where rows and keys are other tokens, nothing but what is written is known.
    across = job_clusters(rows(900, **noise(900), output_1=output), seed=0, square=False)
    np.testing.assert_array_equal(across.labels == 0, truth)


@pytest.mark.parametrize(("one", "other"), [(0, 1), (1, 4)])
def test_tokens_with_a_gap_between_are_two_jobs(one, other):
    """The token itself, and any other; the one before, and one further than the next."""
    truth = np.arange(600) % 3 == 0
    made = rows(600, offset=np.log2(1 + np.where(truth, one, other)), side=np.where(truth, min(one, 1), 1))
    np.testing.assert_array_equal(job_clusters(made, seed=0).labels == 1, truth)


def test_what_is_written_hides_no_jobs_that_looks_tell():
    job = np.arange(1200) % 12 == 0
    made = rows(1200, offset=1.0, side=np.where(job, -1, 1), output_1=RNG.normal(size=1200), **noise(1200))
    found = job_clusters(made, seed=0)
    assert (found.number, found.by_output) == (2, False)
    np.testing.assert_array_equal(found.labels == 1, job)


@pytest.mark.parametrize(
    "made",
    [
        rows(500, offset=1, side=1),
        # What stands one token before differs; what the head does is the same.
        rows(500, offset=1, side=1, key_punctuation=RNG.random(500) < 0.3),
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
    found = job_clusters(made, seed=0)
    assert found.number == 1
    assert not found.labels.any()
    assert np.isnan(found.agreement)


def test_the_agreement_is_that_of_scikit_learn_on_the_halves():
    points = RNG.normal(size=(300, 2))
    found = clusters._agreement(points, np.arange(300), 3, seed=4)
    generator, expected = np.random.default_rng(4), []
    for _ in range(clusters._HALVES):
        order = generator.permutation(300)
        fits = [KMeans(3, n_init=clusters._STARTS, random_state=4) for _ in range(2)]
        for fit, half in zip(fits, np.array_split(order, 2)):
            fit.fit(points[np.sort(half)])
        expected.append(adjusted_rand_score(*(fit.predict(points) for fit in fits)))
    assert found == pytest.approx(np.mean(expected))
    assert found < 0.95


def test_clusters_that_halves_do_not_agree_on_are_no_jobs(monkeypatch):
    truth = np.arange(600) % 2
    made = rows(600, offset=1, side=2 * truth - 1)
    assert job_clusters(made, seed=0).number == 2
    monkeypatch.setattr(clusters, "_agreement", lambda *args, **how: AGREEMENT)
    assert job_clusters(made, seed=0).number == 1


def test_how_far_apart_two_clusters_lie():
    one, other = RNG.normal(size=(4000, 2)), RNG.normal(size=(4000, 2)) * [1, 3] + [5, 0]
    # Along the line between them only the first feature counts.
    assert apart._distance(one, other) == pytest.approx(5.0, rel=0.05)
    even = RNG.random((100000, 1))
    halves = even[even[:, 0] < 0.5], even[even[:, 0] >= 0.5]
    assert apart._distance(*halves) == pytest.approx(np.sqrt(12), rel=0.01)
    assert apart._distance(one, one) == 0.0
