"""Temporary settings while a model loads: messages of libraries kept off the output, and environment variables."""

import logging
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Keep load reports, warnings and progress bars off the output; a terminal still shows a download's bar."""
    from huggingface_hub.utils import logging as hub_noise
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
    from transformers.utils import logging as noise

    level, hub_level = noise.get_verbosity(), hub_noise.get_verbosity()
    bars, hub_bars = noise.is_progress_bar_enabled(), not are_progress_bars_disabled()
    noise.set_verbosity(logging.CRITICAL)
    hub_noise.set_verbosity(logging.CRITICAL)
    noise.disable_progress_bar()  # type: ignore[no-untyped-call]
    if hub_bars and sys.stderr.isatty():
        enable_progress_bars()  # transformers' switch turns the hub's bars off as well
    elif not sys.stderr.isatty():
        disable_progress_bars()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Marian's tokenizer recommends a package
            yield
    finally:
        noise.set_verbosity(level)
        hub_noise.set_verbosity(hub_level)
        if bars:
            noise.enable_progress_bar()  # type: ignore[no-untyped-call]
        if hub_bars:
            enable_progress_bars()


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables inside the block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
