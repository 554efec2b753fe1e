"""Temporary changes: hooks on modules, eval mode, another attention; quiet libraries and environment variables."""

import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from torch import nn
from torch.utils.hooks import RemovableHandle


@contextmanager
def hooked(handles: Iterable[RemovableHandle]) -> Iterator[None]:
    """Keep hooks inside the `with` block.

    Args:
        handles: handles of the registered hooks; best a generator, so that an error in registering one removes the
            earlier ones.
    """
    with ExitStack() as hooks:
        for handle in handles:
            hooks.enter_context(handle)
        yield


@contextmanager
def eager_evaluation(model: nn.Module) -> Iterator[None]:
    """Put a model into eval mode with eager attention inside the block, for `output_attentions=True`."""
    with ExitStack() as stack:
        stack.callback(evaluate(model))
        stack.callback(switch_attention(model, "eager"))
        yield


def evaluate(model: nn.Module) -> Callable[[], None]:
    """Put every part of a model into eval mode, uncompiled; return a function that restores the modes."""
    modes = [(module, module.training) for module in model.modules()]
    # `model.compile()` replaces the call by a graph, in which no listener can run.
    compiled = [(module, call) for module, _ in modes if (call := module._compiled_call_impl) is not None]

    def undo() -> None:
        for module, training in modes:
            module.training = training
        for module, call in compiled:
            module._compiled_call_impl = call

    model.eval()
    for module, _ in compiled:
        module._compiled_call_impl = None
    return undo


def switch_attention(model: nn.Module, name: str) -> Callable[[], None]:
    """Set the attention implementation of a model and its parts; return a function that restores it."""
    configs = {id(c): c for m in model.modules() if (c := getattr(m, "config", None)) is not None}
    for config in list(configs.values()):
        for part in getattr(config, "sub_configs", None) or {}:
            if (c := getattr(config, part, None)) is not None:
                configs[id(c)] = c
    before = [(c, getattr(c, "_attn_implementation_internal", None)) for c in configs.values()]

    def undo() -> None:
        for config, value in before:
            config._attn_implementation_internal = value

    settable = getattr(type(model), "_can_set_attn_implementation", lambda: False)
    try:
        if settable():
            model.set_attn_implementation(name)  # type: ignore[operator]
            # In some releases (transformers 5.17) the configurations of T5's encoder and decoder are not changed by the
            # switch.
            for config, value in before:
                if value is not None and type(config) is type(model.config):
                    setattr(config, "_attn_implementation_internal", name)  # noqa: B010
        elif name == "eager":
            # Falcon does not support the official switch, and its sdpa path returns weights without the causal mask.
            # Its layers read the name at every call, so that setting the name is enough.
            for config, value in before:
                if value is not None:
                    config._attn_implementation_internal = name
    except BaseException:
        undo()
        raise
    return undo


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
