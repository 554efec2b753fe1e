"""Make a trained run the package: weights in float16, tokenizer, curve, and the card with the measurements.

    python packages/headscope-decoder/recipe/package.py RUN [STEP]

`RUN` is the folder that `headscope train` wrote. A training that is not finished is refused but for a `STEP`, whose
checkpoint is then taken, to look at; the card says so.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from heads import DRAWS, STRETCH, behaviors, best, load

HERE = Path(__file__).resolve().parents[1]
WEIGHTS = HERE / "src" / "headscope_decoder" / "weights"
TEXT = HERE.parent / "headscope-minilm" / "src" / "headscope_minilm" / "demo" / "demo.txt"
MOST_BYTES = 20_000_000
_ROWS = 12
_NAMES = {
    "previous": "the token before",
    "first": "the first token, `<s>` (the sink)",
    "induction": f"the token after an earlier copy of the row's own, in {STRETCH} random tokens repeated once",
}


def main(run: Path, step: int | None) -> None:
    """Write weights, curve and card."""
    facts = json.loads((run / "training.json").read_text(encoding="utf-8"))
    if step is None and not facts["complete"]:
        raise SystemExit(f"{run}: the training is not finished; go on with it, or name a step to look at")
    model, tokenizer = load(run if step is None else run / f"checkpoint-{step:06d}")
    if WEIGHTS.exists():
        shutil.rmtree(WEIGHTS)
    model.half().save_pretrained(WEIGHTS)
    tokenizer.save_pretrained(WEIGHTS)
    for file in WEIGHTS.iterdir():
        file.chmod(0o644)
    size = (WEIGHTS / "model.safetensors").stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"the weights are {size:,} bytes; expected at most {MOST_BYTES:,}")
    log = pd.read_parquet(run / "training.parquet")
    log = log if step is None else log[log["step"] <= step]
    curve = log[["step", "tokens", "split", "measure", "value", "ci_low", "ci_high", "n_targets", "learning_rate"]]
    curve.round(6).to_csv(HERE / "recipe" / "curve.csv", index=False)
    (HERE / "CARD.md").write_text(card(facts, log, step=step), encoding="utf-8")


def card(facts: dict[str, Any], log: pd.DataFrame, *, step: int | None) -> str:
    """Write what it is, what it read, how well it does, and which heads do what."""
    model, data, options = facts["model"], facts["data"], facts["options"]
    read, seconds = int(log["tokens"].max()), float(log["seconds"].max())
    last = log[(log["split"] == "held-out") & (log["step"] == log["step"].max())].set_index("measure")
    loss, hits = last.loc["loss"], last.loc["accuracy"]
    unfinished = "" if step is None else f" **Not finished: step {step:,} of {facts['steps']:,}.**"
    groups = f"{options['groups']} groups of keys and values, rotary positions"
    return f"""# headscope-decoder

A small Llama to look at: {model["layers"]} layers x {model["heads"]} heads ({groups}), {model["width"]} wide, {
        model["parameters"] / 1e6:.1f} M parameters, a byte-level BPE vocabulary of {
        facts["tokenizer"]["pieces"]:,} of its own, float16 safetensors. `headscope report --model headscope-decoder`.{
        unfinished
    }

- **Trained from scratch** for this project with `headscope train --objective clm` (`recipe/train.sh`, which goes on
  where it was stopped), on {data["documents"]:,} documents ({data["tokens"]:,} tokens) that `recipe/corpus.py` puts
  together: WikiText-2, valid and test (Merity et al. 2016, English Wikipedia, CC BY-SA 3.0); English Wikipedia text of
  2015 (public repository jason-feng/wikiVisual, CC BY-SA 3.0); the beginnings of 100 novels of Project Gutenberg as
  LitBank has them (Bamman et al. 2020, CC BY 4.0). {data["held_out"]["documents"]} documents ({
        data["held_out"]["tokens"]:,} tokens) were held out. It contains WikiText's `<unk>` as a word.
- **Repeated**: in {
        options["repeated"]:.0%} of the inputs something stands more than once: a stretch of 1/8 to 1/2 of the
  input a second time, or, in half of them, phrases of random tokens again and again, so that induction pays; {
        options["max_length"]
    } tokens an input.
- **Guided**: in the first {
        options["guided"]:.0%} of the steps, less and less, the loss also counted whether head 1-1 looks at the token
  before, and 2-8 at what came after an earlier copy of the token, where that is the right answer. Without that nothing
  of the kind formed in the time that there was. Afterwards the two were left alone: what they do now, they do because
  it pays; but that they are these two, and so early, is our doing, and tells nothing of how such heads form. The field
  `guided_heads` of the configuration names them, and reports call them guided.
- **How long**: {int(log["step"].max()):,} steps of {options["batch_size"]} inputs, {read / 1e6:.1f} M tokens ({
        read / data["train"]["tokens"]:.1f} epochs), {seconds / 60:.0f} minutes on {
        facts["threads"]
    } shared CPU core in {facts["precision"]}; AdamW, {options["learning_rate"]:g} at its highest, dropout {
        options["dropout"]:g}.
  Held-out loss {loss["value"]:.3f} nats ({loss["ci_low"]:.3f} to {loss["ci_high"]:.3f}), the next token right in {
        100 * hits["value"]:.1f}% ({100 * hits["ci_low"]:.1f} to {100 * hits["ci_high"]:.1f}), n = {
        int(loss["n_targets"]):,}.
- **License of the weights**: Apache-2.0.
- **Not for** writing, ranking or answering: it is far too small, and repeats what its text says, with its slants.

## Curve

{curves(log)}

Loss in nats for each token asked for; the training loss is of inputs with repeated passages and dropout. All of it is
in `recipe/curve.csv`.

## Seen in it

Mean weight of the best of {model["layers"] * model["heads"]} heads, by plain loops over transformers' own eager weights
(`recipe/heads.py`): on the demonstration's text, which it was not trained on, but for the first token's row; induction
over the second copy, mean of {DRAWS} draws. Beside it a model of the same shape with random weights. Heads are written
`layer-head`, from 1.

{table()}
"""


def curves(log: pd.DataFrame) -> str:
    """Lay out the held-out measurements, at most 12 of them, the ends among them."""
    values = log.pivot_table(index="step", columns=["split", "measure"], values="value")
    tokens = log.groupby("step")["tokens"].first()
    steps = sorted(set(log.loc[log["split"] == "held-out", "step"]))
    kept = sorted({steps[round(i * (len(steps) - 1) / (_ROWS - 1))] for i in range(_ROWS)})
    lines = ["| step | tokens | training loss | held-out loss | held-out accuracy |", "|---:|---:|---:|---:|---:|"]
    for step in kept:
        row = values.loc[step]
        train = row["train", "loss"]
        lines.append(
            f"| {step:,} | {tokens[step]:,} | {'-' if pd.isna(train) else f'{train:.3f}'} | "
            f"{row['held-out', 'loss']:.3f} | {100 * row['held-out', 'accuracy']:.1f}% |"
        )
    return "\n".join(lines)


def table() -> str:
    """Measure the packaged weights, and random ones."""
    trained, random = (behaviors(*load(WEIGHTS, trained=trained), TEXT) for trained in (True, False))
    lines = ["| mean weight on | best head | weight | best at random |", "|---|---|---:|---:|"]
    for name, words in _NAMES.items():
        head, value = best(trained[name])
        lines.append(f"| {words} | {head} | {value:.2f} | {best(random[name])[1]:.2f} |")
    resting = int((trained["first"] > 0.5).sum())
    keep = "head keeps" if resting == 1 else "heads keep"
    return "\n".join([*lines, "", f"{resting} {keep} more than half of the weight on `<s>`."])


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
