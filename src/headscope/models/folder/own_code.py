"""Refuse models that come with their own code, and prevent downloads while a folder is loaded: no such code is run."""

from collections.abc import Iterator, Mapping
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
    """Refuse a model that cannot be loaded without its own code.

    A family that transformers knows is loaded with transformers' own classes, whatever `auto_map` contains.

    Args:
        config: content of config.json.
        tokenizer: content of tokenizer_config.json; empty if there is none.
        name: name of the model as given by the user.

    Raises:
        ModelError: the family or the tokenizer needs the folder's own code, or code from the hub would be run.
    """
    from transformers import CONFIG_MAPPING

    family = config.get("model_type")
    references = dict(_references(config.get("auto_map")))
    if references and not (isinstance(family, str) and family in CONFIG_MAPPING):
        raise own_code(name, f"config.json's auto_map names {shown(next(iter(references.values())), limit=60)}")
    references = dict(_references(tokenizer.get("auto_map"), legacy="AutoTokenizer"))
    if "AutoTokenizer" in references and not _known_tokenizer(tokenizer.get("tokenizer_class")):
        which = shown(references["AutoTokenizer"], limit=60)
        raise own_code(name, f"tokenizer_config.json's auto_map names {which}")
    for key, value in _programs(config):
        raise own_code(name, f"config.json's {key} names {shown(value, limit=60)} on the hub")


def refuse_other_classes(config: Mapping[str, Any], tokenizer: Mapping[str, Any], *, name: str) -> None:
    """Refuse a tokenizer class that is not a tokenizer: transformers would load a model, including pickles, or a pair.

    Args:
        config: content of config.json.
        tokenizer: content of tokenizer_config.json; empty if there is none.
        name: name of the model as given by the user.

    Raises:
        ModelError: the class is not a tokenizer; names the class.
    """
    from transformers import PreTrainedTokenizerBase
    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES, tokenizer_class_from_name
    from transformers.utils.import_utils import DummyObject

    families = (each for each in _values("model_type", config) if isinstance(each, str))
    classes = [
        *(TOKENIZER_MAPPING_NAMES.get(family) for family in families),
        *_values("tokenizer_class", config),
        tokenizer.get("tokenizer_class"),
    ]
    for class_name in dict.fromkeys(each for each in classes if isinstance(each, str)):
        try:
            cls = tokenizer_class_from_name(class_name)
        except (ImportError, RuntimeError):
            continue  # the tokenizer's own error names the missing package
        is_tokenizer = isinstance(cls, type) and issubclass(cls, PreTrainedTokenizerBase)
        if cls is not None and not is_tokenizer and not isinstance(cls, DummyObject):
            raise ModelError(
                f"{shown(name)} is refused: its tokenizer is of the class {shown(class_name, limit=60)}, which does "
                "not cut a text into tokens; expected one of transformers' tokenizers: save model and tokenizer again "
                "into one folder"
            )


def _values(key: str, value: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the values of a key in a configuration, including its parts."""
    for each, inner in value.items():
        if each == key:
            yield inner
        elif isinstance(inner, dict):
            yield from _values(key, inner)


def own_code(name: str, why: str = "") -> ModelError:
    """Return the error for a model with its own code."""
    reason = f" ({why})" if why else ""
    return ModelError(
        f"{shown(name)} is refused: it needs code of its own{reason}, which is never run; expected a family of "
        "transformers itself"
    )


def _references(auto_map: Any, *, legacy: str = "") -> Iterator[tuple[str, str]]:
    """Yield the class that replaces each auto class; an old tokenizer's map is a list."""
    if legacy and isinstance(auto_map, list):
        auto_map = {legacy: auto_map}
    for auto, classes in auto_map.items() if isinstance(auto_map, dict) else ():
        named = [each for each in (classes if isinstance(classes, list) else [classes]) if each is not None]
        if named:
            yield str(auto), str(named[-1])


def _known_tokenizer(named: Any) -> bool:
    """Return True if transformers has a tokenizer of this name; without a name, the family determines the tokenizer."""
    from transformers.models.auto.tokenization_auto import tokenizer_class_from_name

    if named is None:
        return True
    if not isinstance(named, str):
        return False
    plain = named.removesuffix("Fast")
    return any(tokenizer_class_from_name(each) is not None for each in (named, plain, f"{plain}Fast"))


def _programs(value: Any) -> Iterator[tuple[str, str]]:
    """Yield options that name an implementation on the hub, in a configuration and its parts."""
    for key, inner in value.items():
        if key.strip("_").removesuffix("_internal") in _PROGRAMS:
            named = inner.values() if isinstance(inner, dict) else [inner]
            yield from ((key, each) for each in named if isinstance(each, str) and "/" in each)
        elif isinstance(inner, dict):
            yield from _programs(inner)


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
