"""Names of the options for loading, inputs, losses and interventions; imports nothing, so that help is quick."""

PACKINGS = ("pretraining", "paragraphs", "joined", "single")
"""How lines become inputs."""
DOCUMENTS = ("blocks", "lines")
"""The documents of plain text: lines between blank ones, or each line."""
TOO_LONG = ("truncate", "skip", "error")
"""The treatment of an input over the length limit."""
TOKEN_TYPES = ("own", "zero")
"""Token types of a pair: the model's own, or all 0."""
SPACING = ("written", "words")
"""How words of a treebank are joined: with the white space that is written between them, or by spaces throughout."""
POOLINGS = ("mean", "first", "max")
"""How the attention of the pieces of a word is pooled."""
LOSSES = ("mlm", "clm", "denoise")
"""The model's task: to predict hidden tokens, the next token, or hidden spans."""
LABELS = "labels"
"""The loss of a classifier, which predicts the label of a text."""
LOSS_TASKS = {
    "mlm": "masked language modeling",
    "clm": "predicting the next token",
    "denoise": "span denoising",
    LABELS: "predicting the given labels",
}
"""The training task of each loss, as a phrase for sentences."""
REMOVALS = ("zero", "mean")
"""What replaces the output of removed heads in a checkpoint: nothing, or its mean over a text."""
INTERVENTIONS = ("mean", "zero", "resample", "uniform", "sink")
"""Interventions on a head: on its output (mean, zero, resample), or on its attention weights (uniform, sink)."""
EXPLAINED = "explained"
"""The intervention that replaces a head's attention by its explanation's prediction; it has a stage of its own."""

LOADING = ("revision", "dtype", "device", "device_map")
"""Names of the options for loading, which are the same for a run, a view and `load_model`."""
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
