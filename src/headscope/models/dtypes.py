"""The precisions that a model can be computed in, by torch's names; loads nothing."""

DTYPES = ("float32", "float64", "bfloat16", "float16")
