"""How frequent the key is. Biases of particular tokens are fitted without a feature."""

from headscope.analyses.explanation.feature import TOKENS, Feature, Floats, Group
from headscope.analyses.explanation.row_context import RowContext

GROUPS = (
    Group(
        name="frequency", family="content", label="frequency", phrase="tokens by how frequent they are", by_feature=True
    ),
    Group(name=TOKENS, family="content", label="particular tokens", phrase="particular tokens"),
)


def _log_frequency(rows: RowContext) -> Floats:
    return rows.of_keys(rows.vocabulary.of(rows.vocabulary.log_frequency, rows.keys.ids))


def _log_frequency_squared(rows: RowContext) -> Floats:
    return _log_frequency(rows) ** 2 / 10


FEATURES = (
    Feature(
        name="log_frequency",
        group="frequency",
        label="logarithm of the frequency",
        sentence="frequent tokens",
        opposite="rare tokens",
        compute=_log_frequency,
    ),
    Feature(
        name="log_frequency_squared",
        group="frequency",
        label="its square",
        sentence="frequent tokens",
        opposite="rare tokens",
        compute=_log_frequency_squared,
    ),
)
