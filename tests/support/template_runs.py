"""Made-up runs that together reach every branch of the templates, by analysis."""

from support import mock_inputs
from support.mock_norms import with_norms

RUNS = {
    "norms": [
        lambda: with_norms(mock_inputs.encoder(6, 12)),
        lambda: with_norms(mock_inputs.encoder(6, 12), resting=0.24),
        lambda: with_norms(mock_inputs.encoder(6, 12), resting=0.9),
        lambda: with_norms(mock_inputs.encoder(2, 2), intervals=False),
        lambda: with_norms(mock_inputs.encoder(6, 1), resting=0.1),
        lambda: with_norms(mock_inputs.t5()),
    ]
}
