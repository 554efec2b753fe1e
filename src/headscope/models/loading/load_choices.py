"""The choices for loading a model: its options, its precision, and the cost of a low precision; imports nothing."""

LOADING = ("revision", "dtype", "device", "device_map")
"""Names of the options, which are the same for a run, a view and `load_model`."""
DEVICE_MAPS = ("auto",)

DTYPES = ("float32", "float64", "bfloat16", "float16")
DTYPE_CHOICES = ("auto", *DTYPES)
"""Allowed values: `auto` is the precision of the checkpoint."""

# From `benchmarks/precision.py`: the embedded model on its own text, compared with float64.
_MEASURED = {
    "bfloat16": "up to 0.02 nats off a head's mean entropy and 0.001 off a share of attention",
    "float16": "up to 0.001 nats off a head's mean entropy and 0.0001 off a share of attention",
}


def precision_note(dtype: str) -> str | None:
    """Return a message about the errors of a low precision for the user; None for float32 and float64.

    Args:
        dtype: torch's name of the dtype.
    """
    error = _MEASURED.get(dtype)
    return error and (
        f"computed in {dtype}: on the embedded model that is {error}; float32 where differences of that size matter"
    )
