"""The hash of a row by its definition."""

from hashlib import blake2b

WORD = (1 << 64) - 1


def plain_hash(document, segment, row, kind, layer, head, *, seed):
    """Compute the hash by its definition, one number at a time."""

    def mixed(value):
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & WORD
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & WORD
        return value ^ (value >> 31)

    digest = blake2b(f"{seed}/{segment}/{document}".encode(), digest_size=8).digest()
    key = int.from_bytes(digest, "little")
    by_row = mixed((key + (row + 1) * 0x9E3779B97F4A7C15) & WORD)
    number = ["encoder", "decoder", "cross"].index(kind) * 2**40 + layer * 2**20 + head
    return mixed((by_row + (number + 1) * 0xD1B54A32D192ED03) & WORD)
