"""A user's own functions and files: features that explain heads, scores of effects, word vectors."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b, file_digest
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from headscope.corpora.opening import is_pipe, other_than_file, source_name
from headscope.errors import OptionError

_NAME = re.compile(r"[a-z][a-z0-9_]*")
Score = Callable[[Any, Any], Any]
"""A function of a model's output for a batch, and its inputs, that returns a number for each input, `[batch]`."""


def function_facts(value: Any) -> Any:
    """Return facts that identify a function, the same in every process.

    They cover its code, defaults, closure and bound arguments, but not values that it reads from elsewhere.
    """
    if isinstance(value, FunctionType):
        inside = [function_facts(cell.cell_contents) for cell in value.__closure__ or ()]
        return function_facts(value.__code__), value.__defaults__, inside
    if isinstance(value, CodeType):
        return value.co_code, value.co_names, [function_facts(each) for each in value.co_consts]
    if isinstance(value, partial):
        arguments = [function_facts(each) for each in value.args]
        return function_facts(value.func), arguments, sorted(value.keywords.items())
    method = type(value).__call__ if callable(value) else None
    if isinstance(method, FunctionType):
        return type(value).__qualname__, function_facts(method), sorted(vars(value).items())
    return repr(value)


@dataclass(frozen=True, kw_only=True)
class TextFeature:
    """A feature of keys, or of pairs of tokens, that `hs.explanation` adds to its catalog for explaining heads.

    Attributes:
        name: name in tables; lower-case letters, digits and `_`.
        sentence: noun phrase for the keys for which the feature is 1, or large, as in `tokens that end in -ing`.
        compute: function that returns the feature for all tokens of a text, an `AnnotatedTokens`: a number for each
            key, `[key]`, or for each pair, `[query, key]`. It is called once per sampled input; numbers are finite,
            and best between -10 and 10.
        group: group of features that are added to an explanation together; the feature alone when empty.
        label: label in headings; the name when empty.
        opposite: noun phrase for the keys where the feature is small, if it is not binary: `short tokens`.

    Raises:
        OptionError: the name has other characters, or `sentence` is empty, or `compute` cannot be called.
    """

    name: str
    sentence: str
    compute: Callable[[Any], Any]
    group: str = ""
    label: str = ""
    opposite: str = ""

    def __post_init__(self) -> None:
        for what, name in (("name", self.name), ("group", self.group or self.name)):
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise OptionError(
                    f"the {what} of a feature is {name!r}; expected small letters, digits and _, as ends_in_ing"
                )
        if not isinstance(self.sentence, str) or not self.sentence.strip():
            raise OptionError(
                f"feature {self.name!r} has no sentence; expected what its keys are, as 'tokens that end in -ing'"
            )
        if not callable(self.compute):
            raise OptionError(
                f"compute of feature {self.name!r} is a {type(self.compute).__name__}; expected a function of a text "
                "that returns a number for each of its tokens"
            )


def check_features(features: Any) -> tuple[TextFeature, ...]:
    """Return features as a tuple.

    Raises:
        OptionError: an element is not a feature, or two have the same name.
    """
    if isinstance(features, TextFeature) or not isinstance(features, Iterable):
        raise OptionError(
            f"features is a {type(features).__name__}; expected a list of hs.TextFeature, as [my_feature]"
        )
    checked: dict[str, TextFeature] = {}
    for feature in features:
        if not isinstance(feature, TextFeature):
            raise OptionError(
                f"features has a {type(feature).__name__}; expected hs.TextFeature(name=..., sentence=..., compute=...)"
            )
        if feature.name in checked:
            raise OptionError(f"two features are named {feature.name!r}; give each a name of its own")
        checked[feature.name] = feature
    return tuple(checked.values())


def hash_of_features(features: Sequence[TextFeature]) -> str | None:
    """Return a hash of features, including their functions, for the signature; None if there are none.

    A function's hash covers its code, defaults, closure and bound arguments, but not values read from elsewhere.
    """
    if not features:
        return None
    digest = blake2b(digest_size=8)
    for each in features:
        words = (each.name, each.sentence, each.group, each.label, each.opposite)
        digest.update(repr((words, function_facts(each.compute))).encode())
    return digest.hexdigest()


def name_of_score(score: Score) -> str:
    """Return the name of a score in tables: the name of its function."""
    return str(getattr(score, "__name__", type(score).__name__))


def check_score(score: Any, *, taken: Sequence[str] = ()) -> Score:
    """Check that tables can name a score, and return it.

    Args:
        score: score as the user gave it.
        taken: names of other measures.

    Raises:
        OptionError: it is not a function, or its name is taken or has other characters than `a` to `z`, digits and `_`.
    """
    if not callable(score):
        raise OptionError(
            f"score is a {type(score).__name__}; expected a function of the model's output and its inputs that "
            "returns a number for each input"
        )
    name = name_of_score(score)
    if not _NAME.fullmatch(name):
        raise OptionError(
            f"score is named {name!r}; expected small letters, digits and _, as def logit_difference(outputs, inputs)"
        )
    if name in taken:
        raise OptionError(f"score is named {name!r}, as a measure of effects is; give the function another name")
    named: Score = score
    return named


def hash_of_score(score: Score | None) -> str | None:
    """Return a score's name and a hash of its function, for the signature; None without a score."""
    if score is None:
        return None
    digest = blake2b(repr(function_facts(score)).encode(), digest_size=8)
    return f"{name_of_score(score)} {digest.hexdigest()}"


def check_vectors(path: Path) -> None:
    """Raise an error for a file of word vectors that cannot be opened, or can be read only once.

    Raises:
        OptionError: the file is unusable; the message gives the reason.
    """
    name = source_name(path)
    try:
        if is_pipe(path):
            raise OptionError(
                f"--vectors {name} is a pipe, which can be read only once; write it to a file, and give that"
            )
        if kind := other_than_file(path):
            raise OptionError(f"--vectors {name} is {kind}; expected a GloVe or word2vec text file")
        path.open("rb").close()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise OptionError(f"--vectors {name} cannot be read ({why}); expected a GloVe or word2vec text file") from error


def hash_of_vectors(path: Path) -> str:
    """Return the hash of a file of word vectors.

    Raises:
        OptionError: as in `check_vectors`.
    """
    check_vectors(path)
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
