"""The signature of a run: a record of everything that its numbers depend on, with an id."""

import json
import platform
from collections.abc import Mapping
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from headscope.encoding.vocabulary import Vocabulary
from headscope.models.identity import adaptation_facts, configuration_hash, weights_hash
from headscope.models.loading.load_model import LoadedModel
from headscope.storage.sealed import signature_id
from headscope.version import __version__

# Commit, machine and batch size are excluded, because they change numbers only by rounding.
_LIBRARIES = ("torch", "transformers", "tokenizers", "numpy")


def model_facts(loaded: LoadedModel, vocabulary: Vocabulary) -> dict[str, Any]:
    """Return a signature's facts on a model: its names and origin, hashes of its weights and configuration."""
    return {
        "name": loaded.name,
        "revision": loaded.revision,
        "weights": weights_hash(loaded),
        "configuration": configuration_hash(loaded),
        "family": loaded.family,
        **adaptation_facts(loaded.model),
        "origin": loaded.origin,
        "special": {"cls": vocabulary.cls_name, "sep": vocabulary.sep_name},
    }


def make_signature(
    *, model: Mapping[str, Any], tokenizer: str, corpus: Mapping[str, Any], options: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """Return a signature with its id.

    Args:
        model: from `model_facts`.
        tokenizer: hash of the tokenizer.
        corpus: name, hash and number of documents of the text; name and hash of each annotated corpus.
        options: options that change numbers.
        seed: seed of every random choice.
    """
    content = {
        "model": dict(model),
        "tokenizer": tokenizer,
        "corpus": dict(corpus),
        "options": dict(options),
        "seed": seed,
    }
    versions = {"python": platform.python_version(), "headscope": __version__}
    versions |= {name: version(name) for name in _LIBRARIES}
    # The id ignores names: the same weights or text under another name are the same run.
    essential = {
        **content,
        "model": {k: v for k, v in model.items() if k not in ("name", "revision", "special", "origin")},
        "corpus": _nameless(corpus),
    }
    return {"id": signature_id(essential), **content, "versions": versions}


def _nameless(corpus: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _nameless(value) if isinstance(value, Mapping) else value for key, value in corpus.items() if key != "name"
    }


def tokenizer_hash(tokenizer: Any) -> str:
    """Return the hash of a tokenizer's whole definition, 32 hex digits."""
    if getattr(tokenizer, "is_fast", False):
        return blake2b(tokenizer.backend_tokenizer.to_str().encode(), digest_size=16).hexdigest()
    digest = blake2b(digest_size=16)
    # The settings without paths, the vocabulary, and the files that the tokenizer's code reads.
    settings = {
        name: str(value)
        for name, value in tokenizer.init_kwargs.items()
        if name not in ("name_or_path", *tokenizer.vocab_files_names) and not name.endswith("_file")
    }
    definition = [type(tokenizer).__name__, sorted(settings.items()), sorted(tokenizer.get_vocab().items())]
    digest.update(json.dumps(definition).encode())
    with TemporaryDirectory() as folder:
        for file in sorted(tokenizer.save_vocabulary(folder, None) or ()):
            digest.update(Path(file).name.encode() + Path(file).read_bytes())
    return digest.hexdigest()
