"""A made-up run of every analysis."""

from support.mock_behaviors import with_behaviors
from support.mock_compare import with_comparison
from support.mock_distances import with_distances
from support.mock_distribution import with_distribution
from support.mock_effect_kept import with_effect_kept
from support.mock_effects import with_effects
from support.mock_explanation import with_explanation
from support.mock_importance import with_importance
from support.mock_joint import with_joint_effects
from support.mock_norms import with_norms
from support.mock_pca import with_pca
from support.mock_probes import with_probes
from support.mock_why import with_why


def whole(inputs):
    """Return a run with the tables of every analysis that it lacks."""
    inputs = with_norms(with_behaviors(with_distances(with_probes(with_importance(inputs)))))
    inputs = with_joint_effects(with_effects(with_explanation(with_pca(with_distribution(inputs)))))
    return with_comparison(with_effect_kept(with_why(inputs)))
