"""Lists whose members are named and loaded on demand: `module:NAME`, and entry points of installed packages."""

from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, TypeVar

from headscope.errors import ExtensionError

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
