"""When a rate falls and when training ends, on scripted losses."""

import pytest

from headscope.analyses.probes.parsers.probe_training import Falling, Plateau

HOW = Falling(least_gain=0.1, factor=0.5, falls=2)


def told(losses):
    """What a run is told and does: better, back, and the share of the rate that comes next."""
    plateau = Plateau(HOW)
    return plateau, [(*plateau.tell(loss), plateau.share) for loss in losses]


def test_the_rate_falls_where_the_loss_stops_falling_and_not_before():
    plateau, seen = told([5.0, 4.0, 3.95, 3.5, 3.6])
    assert seen == [
        (True, False, 1.0),
        (True, False, 1.0),
        # A little better: kept, and gone on from, at a lower rate.
        (True, False, 0.5),
        (True, False, 0.5),
        # Worse: back to the best.
        (False, True, 0.25),
    ]
    assert (plateau.best, plateau.lowest, plateau.done) == (4, 3.5, False)


def test_training_ends_only_with_a_low_rate_that_gained_nothing():
    plateau, seen = told([5.0, 6.0, 5.5, 4.0, 4.5])
    # Two epochs without a gain ended nothing, as the rate had not fallen; nor did the third, as its rate had gained.
    assert [share for *_, share in seen] == [1.0, 0.5, 0.25, 0.25, 0.125]
    assert not plateau.done
    assert plateau.tell(4.2) == (False, True)
    assert plateau.done
    assert (plateau.best, plateau.lowest) == (4, 4.0)


def test_a_run_that_has_ended_gains_nothing():
    plateau, _ = told([5.0, 6.0, 6.0, 6.0])
    assert plateau.done
    assert plateau.tell(1.0) == (False, False)
    assert (plateau.best, plateau.lowest) == (1, 5.0)


@pytest.mark.parametrize("wild", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_is_no_progress(wild):
    plateau, seen = told([wild, 5.0, wild])
    assert [each[:2] for each in seen] == [(False, True), (True, False), (False, True)]
    assert (plateau.best, plateau.lowest) == (2, 5.0)
