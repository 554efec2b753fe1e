"""Lists whose members are named and not loaded: `module:NAME`, and entry points that installed packages add."""

from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, TypeVar

from headscope.errors import ExtensionError

Member = TypeVar("Member")


def installed(group: str, kind: type[Member], *, taken: frozenset[str]) -> tuple[Member, ...]:
    """Load what other packages add to a list, sorted by the names of their entry points.

    Args:
        group: of entry points, as `headscope.analyses`.
        kind: what each of them names; it has a `name`.
        taken: names of what stands in the list already.

    Raises:
        ExtensionError: one cannot be loaded, is something else, or has the name of another; says whose it is.
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
    """Import what `module:NAME` names, the module counted from a package."""
    module, _, name = where.partition(":")
    return getattr(import_module(f"{package}.{module}"), name)
