"""The named ways in which text becomes inputs and a model is asked; loads nothing, so that help can list them."""

PACKINGS = ("pretraining", "paragraphs", "joined", "single")
"""How lines become inputs."""
DOCUMENTS = ("blocks", "lines")
"""What a document of plain text is: lines between blank ones, or each line."""
TOO_LONG = ("truncate", "skip", "error")
"""What is done with an input over the limit."""
TOKEN_TYPES = ("own", "zero")
"""Token types of a pair: the model's own, or all 0."""
SPACING = ("written", "words")
"""How words of a treebank are joined: with the white space that is written between them, or by spaces throughout."""
POOLINGS = ("mean", "first", "max")
"""How the attention of a word that was cut is made of its pieces'."""
LOSSES = ("mlm", "clm", "denoise")
"""What a model is asked to foretell: hidden tokens, the next one, or hidden spans."""
LABELS = "labels"
"""The loss of a classifier, which foretells the label of a text."""
LOSS_TASKS = {
    "mlm": "masked language modeling",
    "clm": "predicting the next token",
    "denoise": "span denoising",
    LABELS: "predicting the given labels",
}
"""What a model is trained to do by each loss, as sentences say it."""
REMOVALS = ("zero", "mean")
"""What may stand in a checkpoint in place of what removed heads write: nothing, or its mean over a text."""
INTERVENTIONS = ("mean", "zero", "resample", "uniform", "sink")
"""What is done to a head: to what it writes (mean, zero, resample), or to where it looks (uniform, sink)."""
EXPLAINED = "explained"
"""The intervention that has a head look where its explanation predicts; it is measured by a stage of its own."""
