"""The library's version, packages that extend or accompany it, and instructions to install missing ones.

headscope is not on PyPI, so an instruction names its checkout or its wheel. A list is extended by entry points of
installed packages, and names its members as `module:NAME`, to load them on demand.
"""

import shlex
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from headscope.errors import ExtensionError, InputError

__version__ = "0.1.0"
Member = TypeVar("Member")


def installed(group: str, kind: type[Member], *, taken: frozenset[str]) -> tuple[Member, ...]:
    """Load the members that other packages add to a list, sorted by the names of their entry points.

    Args:
        group: group of entry points, such as `headscope.analyses`.
        kind: class of the members; it has a `name`.
        taken: names that the list already has.

    Raises:
        ExtensionError: one cannot be loaded, is of another class, or has a taken name; the message names its package.
    """
    members: list[Member] = []
    names = set(taken)
    for point in sorted(entry_points(group=group), key=lambda point: point.name):
        package = point.dist.name if point.dist is not None else point.value
        whose = f"the package {package} adds {point.value} to {group}, which"
        try:
            member = point.load()
        except Exception as error:
            raise ExtensionError(
                f"{whose} cannot be loaded ({type(error).__name__}: {error}); mend the package, or uninstall it"
            ) from error
        if not isinstance(member, kind):
            raise ExtensionError(
                f"{whose} is of type {type(member).__name__}; expected {kind.__name__}: name one in the entry point"
            )
        name = member.name  # type: ignore[attr-defined]
        if name in names:
            raise ExtensionError(f"{whose} is called {name}, as another is; give it another name, or uninstall it")
        names.add(name)
        members.append(member)
    return tuple(members)


def load(where: str, *, package: str = "headscope") -> Any:
    """Import the object that `module:NAME` names, with the module relative to a package."""
    module, _, name = where.partition(":")
    return getattr(import_module(f"{package}.{module}"), name)


EMBEDDED = "headscope-minilm"
"""The default model; its package contains the demonstration's corpora too."""
EMBEDDED_MODELS = (EMBEDDED, "headscope-decoder")
"""Models in packages of these names, such as `headscope_decoder`; their modules have `folder()`."""


def embedded_package(name: str = EMBEDDED) -> ModuleType:
    """Import the package of an embedded model, by the model's name.

    Raises:
        ImportError: it is not installed.
    """
    return import_module(name.replace("-", "_"))


_FROM_A_WHEEL = "install it from the wheel or the checkout that headscope came from, as pip install {what}"


def how_to_install(extra: str) -> str:
    """Return the instruction to install an extra of headscope (`demo`, `explore` ...), as half a sentence.

    If the package runs from a checkout, the command names it and can be used as it is.
    """
    if extra == "demo":
        return how_to_install_companion(EMBEDDED)
    checkout = _checkout()
    if checkout is None:
        # An installed wheel does not remember its path.
        return _FROM_A_WHEEL.format(what=f"'headscope-*.whl[{extra}]'")
    return f"install it with pip install {shlex.quote(f'{checkout}[{extra}]')}"


def how_to_install_companion(name: str) -> str:
    """Return the instruction to install a companion package (an embedded model, the trainer), as half a sentence."""
    checkout = _checkout()
    if checkout is None:
        return _FROM_A_WHEEL.format(what=f"{name.replace('-', '_')}-*.whl")
    return f"install it with pip install {shlex.quote(str(checkout / 'packages' / name))}"


def how_to_install_packages(*packages: str) -> str:
    """Return the command that installs packages from PyPI, which are not headscope's."""
    return f"pip install {' '.join(packages)}"


def _checkout() -> Path | None:
    """Return the checkout that contains the package's source, or None if it was installed."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "pyproject.toml").is_file() and (root / "packages").is_dir() else None


def demo_text() -> Path:
    """Return the path of the demonstration text: short English documents, for `read_corpus`.

    Raises:
        InputError: the package with the demonstration is not installed.
    """
    return _file("demo_text", "text", instead="--text")


def demo_treebank() -> Path:
    """Return the path of the demonstration's treebank: generated English documents with trees and mentions.

    Raises:
        InputError: the package with the demonstration is not installed.
    """
    return _file("demo_treebank", "treebank", instead="--treebank (--coref for mentions)")


def _file(name: str, corpus: str, *, instead: str) -> Path:
    try:
        return Path(getattr(embedded_package(), name)())
    # An earlier version of the package has only the model.
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"no {corpus} was given and the demonstration's is not installed; {how_to_install('demo')}, "
            f"or give {instead}"
        ) from error
