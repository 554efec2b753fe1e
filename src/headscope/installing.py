"""The embedded models, and instructions to install missing packages.

headscope is not on PyPI, so an instruction names its checkout or its wheel.
"""

import shlex
from importlib import import_module
from pathlib import Path
from types import ModuleType

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
