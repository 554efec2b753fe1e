"""Probes with little training, for tests that need numbers; training has its own tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from headscope.analyses.probes import compute, trained_parsers
from headscope.analyses.probes.parsers import attention_fit
from headscope.analyses.probes.parsers import probe_training as train
from headscope.analyses.probes.parsers.attention_fit import FitOptions
from headscope.analyses.probes.parsers.probe_training import Falling
from headscope.analyses.probes.structural.layer_training import StructuralOptions
from headscope.analyses.probes.structural.measure import measure_structural

OPTIONS = StructuralOptions(rounds=3, least_steps=1, falling=Falling(least_gain=1e9, falls=0))


@contextmanager
def quick_probes(*, passes: int | None = None) -> Iterator[pytest.MonkeyPatch]:
    """Patch training: short options for the structural probe, few steps per epoch, two starts for attention alone.

    `passes` limits the passes of the trained parsers. Tests of the fit check the choice among several starts.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(compute, "measure_structural", partial(measure_structural, options=OPTIONS))
        patched.setattr(train, "_LEAST_STEPS", 1)
        patched.setattr(attention_fit, "_AROUND", 2)
        if passes is not None:
            patched.setattr(trained_parsers, "FitOptions", partial(FitOptions, passes=passes))
        yield patched
