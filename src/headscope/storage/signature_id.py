"""The id of a record, which depends on its content but not on the order of keys."""

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any


def signature_id(content: Mapping[str, Any]) -> str:
    """Return 16 hex digits of BLAKE2b over a record's JSON with sorted keys."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
