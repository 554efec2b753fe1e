"""A study in the explorer: its model, and the roles of its heads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headscope.app.explorer.model_shelf import NamedModel
from headscope.embedded import EMBEDDED

if TYPE_CHECKING:
    from headscope.study.study import Study


def study_model(study: Study) -> NamedModel:
    """Return the model that a study measured, if its manifest shows where it is.

    Of a folder only the last part is known; loading it fails with the advice to name it.
    """
    model = study.manifest["signature"]["model"]
    name = str(model["name"])
    unknown = {
        "folder": "was a folder, and the study does not say where it lies; name it with --model",
        "memory": "was in memory; save it with save_pretrained, and name its folder with --model",
    }
    reason = unknown.get(str(model.get("origin")))
    return NamedModel(
        name=name,
        source=None if name == EMBEDDED else name,
        revision=model.get("revision"),
        refused="" if reason is None else f"the study's model {name} {reason}",
        roles=roles_of(study),
        weights=model.get("weights"),
    )


def roles_of(study: Study) -> dict[str, tuple[tuple[str | None, ...], ...]]:
    """Return each head's role, `[layer][head]` by kind."""
    named = {(row.kind, row.layer, row.head): str(row.role) for row in study.roles.itertuples()}
    return {
        part["kind"]: tuple(
            tuple(named.get((part["kind"], layer, head)) for head in range(1, part["heads"] + 1))
            for layer in range(1, part["layers"] + 1)
        )
        for part in study.manifest["kinds"]
    }
