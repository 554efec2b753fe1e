"""The stages that declare scans, and shards so small that a short text has many."""

from collections.abc import Callable, Iterator

import pytest

from headscope.analyses.measurement import Measurement
from headscope.encoding import shards
from headscope.scans.declarations.analysis import Stage
from headscope.scans.declarations.analysis_list import OF_STAGE, STAGES


def scanning_stages() -> list[Stage]:
    """Return the stages that declare a scan, in their order."""
    return [
        stage
        for stage in STAGES.values()
        if OF_STAGE[stage.name].measurement(stage).scans is not Measurement.scans  # type: ignore[attr-defined]
    ]


def shards_of(tokens: int) -> Callable[[], Iterator[None]]:
    """Return a fixture, for all tests of a module, that ends each shard after `tokens` tokens."""

    @pytest.fixture(autouse=True, scope="module")
    def small_shards() -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(shards, "SHARD_TOKENS", tokens)
            yield

    return small_shards
