"""Refuse models that need their own code, which is never run, and prevent downloads while a folder is loaded."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any

from headscope.errors import ModelError
from headscope.visible import shown

# Options that select an implementation; `org/name` is one that transformers fetches from the hub and runs.
_PROGRAMS = ("attn_implementation", "experts_implementation")
_LOADING: ContextVar[bool] = ContextVar("loading", default=False)
_LOCK = Lock()
_inside = 0
_offline: Any = None


def refuse_own_code(config: Mapping[str, Any], tokenizer: Mapping[str, Any], *, name: str) -> None:
    """Refuse a model that cannot be loaded without its own code, or whose tokenizer class is not a tokenizer.

    A family that transformers knows is loaded with transformers' own classes, whatever `auto_map` contains. For a class
    that is not a tokenizer, transformers would load a model, including pickles, or a pair.

    Args:
        config: content of config.json.
        tokenizer: content of tokenizer_config.json; empty if there is none.
        name: name of the model as given by the user.

    Raises:
        ModelError: the family or the tokenizer needs the folder's own code, code from the hub would be run, or the
            class is not a tokenizer.
    """
    from transformers import CONFIG_MAPPING, PreTrainedTokenizerBase
    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES, tokenizer_class_from_name
    from transformers.utils.import_utils import DummyObject

    family, class_name, auto_map = config.get("model_type"), tokenizer.get("tokenizer_class"), tokenizer.get("auto_map")
    if config.get("auto_map") and not (isinstance(family, str) and family in CONFIG_MAPPING):
        raise own_code(name, "config.json has an auto_map")
    # An old tokenizer's auto_map is a list.
    has_code = isinstance(auto_map, list) or (isinstance(auto_map, dict) and auto_map.get("AutoTokenizer"))
    if has_code and not _is_known(class_name):
        raise own_code(name, "tokenizer_config.json has an auto_map")
    for key, value in entries(config):
        named = value.values() if isinstance(value, dict) else [value]
        if key.strip("_").removesuffix("_internal") in _PROGRAMS and any("/" in str(each) for each in named):
            raise own_code(name, f"config.json's {key} names code on the hub")
    families = [value for key, value in entries(config) if key == "model_type" and isinstance(value, str)]
    classes = [value for key, value in entries(config) if key == "tokenizer_class"]
    for each in [*map(TOKENIZER_MAPPING_NAMES.get, families), *classes, class_name]:
        try:
            cls = tokenizer_class_from_name(each) if isinstance(each, str) else None
        except (ImportError, RuntimeError):
            continue  # the tokenizer's own error names the missing package
        is_tokenizer = isinstance(cls, type) and issubclass(cls, PreTrainedTokenizerBase)
        if cls is not None and not is_tokenizer and not isinstance(cls, DummyObject):
            raise ModelError(
                f"{shown(name)} is refused: its tokenizer is of the class {shown(each, limit=60)}, which does not cut "
                "a text into tokens; expected one of transformers' tokenizers: save model and tokenizer again into one "
                "folder"
            )


def entries(value: Mapping[str, Any], *, but: Collection[str] = ()) -> Iterator[tuple[str, Any]]:
    """Yield every key and value of a configuration and its parts, except the parts under some keys."""
    for key, inner in value.items():
        yield key, inner
        if isinstance(inner, dict) and key not in but:
            yield from entries(inner, but=but)


def own_code(name: str, why: str = "") -> ModelError:
    """Return the error for a model with its own code."""
    reason = f" ({why})" if why else ""
    return ModelError(
        f"{shown(name)} is refused: it needs code of its own{reason}, which is never run; give a model that "
        "transformers loads with its own classes"
    )


def _is_known(named: Any) -> bool:
    """Return True if transformers has a tokenizer of this name; without a name, the family determines the tokenizer."""
    from transformers.models.auto.tokenization_auto import tokenizer_class_from_name

    if not isinstance(named, str):
        return named is None
    plain = named.removesuffix("Fast")
    return any(tokenizer_class_from_name(each) is not None for each in (named, plain, f"{plain}Fast"))


@contextmanager
def nothing_fetched() -> Iterator[None]:
    """Make the hub unreachable for this thread, as in offline mode; other threads fetch as before."""
    global _inside, _offline
    from huggingface_hub import constants

    with _LOCK:
        if not _inside:
            _offline, constants.is_offline_mode = constants.is_offline_mode, _offline_here
        _inside += 1
    loading = _LOADING.set(True)
    try:
        yield
    finally:
        _LOADING.reset(loading)
        with _LOCK:
            _inside -= 1
            if not _inside:
                constants.is_offline_mode = _offline


def _offline_here() -> bool:
    return _LOADING.get() or _offline()
