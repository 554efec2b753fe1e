"""The heads whose attention was guided in training, as named in a model's configuration."""

import re
from typing import Any

GUIDED = "guided_heads"
"""The field of a configuration: `{"heads": ["1-1", "2-8"], "share": 0.2}`, with the share in the first steps."""
_HEAD = re.compile(r"[1-9]\d{0,5}-[1-9]\d{0,5}")


def guided_heads(config: Any) -> dict[str, Any] | None:
    """Return the field if it is present and valid; a configuration may come from anywhere.

    Args:
        config: configuration of a transformers model.
    """
    field = getattr(config, GUIDED, None)
    heads, share = (field.get("heads"), field.get("share")) if isinstance(field, dict) else (None, None)
    if not isinstance(heads, list) or not isinstance(share, float) or not 0 < share <= 1:
        return None
    named = [head for head in heads if isinstance(head, str) and _HEAD.fullmatch(head)]
    return {"heads": named, "share": share} if named and len(named) == len(heads) else None
