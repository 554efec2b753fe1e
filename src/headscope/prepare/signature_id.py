"""The id of a record: the same for the same content, in any order."""

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any


def signature_id(parts: Mapping[str, Any]) -> str:
    """Hash a signature: 16 hex digits of BLAKE2b over its JSON with sorted keys."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
