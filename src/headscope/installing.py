"""Instructions to install missing packages: headscope is not on PyPI, so its checkout or its wheel has to be named."""

import shlex
from pathlib import Path

from headscope.embedded import EMBEDDED

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
