"""What may be chosen when a model is loaded: where it lies, its precision, and what a low one costs; loads nothing."""

LOADING = ("revision", "dtype", "device", "device_map")
"""Names of the options, the same of a run, a view and `load_model`."""
DEVICE_MAPS = ("auto",)

DTYPES = ("float32", "float64", "bfloat16", "float16")
DTYPE_CHOICES = ("auto", *DTYPES)
"""What may be asked for: `auto` is the precision of the checkpoint."""

# `benchmarks/precision.py`: the embedded model over its own text against float64.
_MEASURED = {
    "bfloat16": "up to 0.02 nats off a head's mean entropy and 0.001 off a share of attention",
    "float16": "up to 0.001 nats off a head's mean entropy and 0.0001 off a share of attention",
}


def precision_note(dtype: str) -> str | None:
    """Return what a low precision does to numbers, as a sentence for the user; None for float32 and float64.

    Args:
        dtype: by torch's name.
    """
    error = _MEASURED.get(dtype)
    return error and (
        f"computed in {dtype}: on the embedded model that is {error}; float32 where differences of that size matter"
    )
