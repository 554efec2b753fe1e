"""The list of objectives: each name gives an object with everything that a training needs."""

import pytest

from headscope_train.objectives.objective import Objective, objective_of
from headscope_train.training_options import OBJECTIVES


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
def test_a_name_gives_an_objective(name):
    found = objective_of(name)
    assert isinstance(found, Objective)
    assert found.limits().endswith(".")


def test_objectives_differ_in_the_head_that_they_go_on_with():
    heads = {objective_of(name).head_words for name in OBJECTIVES}
    assert len(heads) == len(OBJECTIVES) == 2
