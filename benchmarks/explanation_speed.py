"""The cost of explanations of heads and their quality: processor seconds against the median explained share.

The text is read once for all numbers of rows; features and fits are timed in one thread. Aims: 72 heads fitted within
60 s, 1,024 heads within 5 minutes. --layers and --heads replace --model by a model with random weights, whose heads
have little to explain: 32 of each are 1,024 heads.
"""

import argparse
import tempfile
import time

import torch
from transformers import BertConfig, BertForMaskedLM

from headscope.analyses.explanation.compute import ExplanationMeasurement
from headscope.analyses.explanation.sums import MOST_ROWS, RowSampleAccumulator
from headscope.analyses.explanation.tables import WEIGHT
from headscope.installing import demo_text
from headscope.models.load_model import load_model
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare_model_run
from headscope.scans.scan_declaration import TRAINED, RunText, Scan, ScanSums
from headscope.scans.scan_runner import ScanRunner

WIDTH = 256


def save_random_model(folder: str, *, layers: int, heads: int) -> None:
    """Save a model with random weights, and the embedded model's tokenizer."""
    tokenizer = load_model().tokenizer
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=layers,
        num_attention_heads=heads,
    )
    BertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def time_rows(model: str | None, text: str, *, max_inputs: int, numbers: list[int]) -> None:
    """Print the cost and the explained share for each number of rows.

    Args:
        model: name or folder; None for the embedded one.
        text: path of the text file.
        max_inputs: maximum number of inputs.
        numbers: maximum numbers of rows, for each of which all heads are explained.
    """
    run = prepare_model_run(RunOptions(model=model, text=(text,), max_inputs=max_inputs, stages=("explanation",)))
    samples = [RowSampleAccumulator(run.layout, most=number) for number in numbers]
    began = time.process_time()
    sums = ScanRunner().run("explanation", [Scan(RunText(run), samples)])
    print(f"{time.process_time() - began:.1f} s of processor time: the text is read")
    heads = sum(part.layers * part.heads for part in run.layout)
    for number, sample in zip(numbers, sums[TRAINED], strict=True):
        began = time.process_time()
        result = ExplanationMeasurement(run).compute(ScanSums({TRAINED: [sample]}))
        took = time.process_time() - began
        table = result.tables["explanation"]
        of_weight = table[table["measure"] == WEIGHT]
        print(
            f"{of_weight['n_rows'].max():5} rows (at most {number}), {heads} heads by three measures: {took:6.1f} s, "
            f"median explained {of_weight['explained'].median():.3f}",
            flush=True,
        )


def main() -> int:
    """Time a model with the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model")
    parser.add_argument("--text", default=str(demo_text()))
    parser.add_argument("--max-inputs", type=int, default=100)
    parser.add_argument("--layers", type=int)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--rows", type=int, nargs="+", default=[256, 512, 1024, MOST_ROWS])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.layers:
            save_random_model(folder, layers=options.layers, heads=options.heads)
        model = folder if options.layers else options.model
        time_rows(model, options.text, max_inputs=options.max_inputs, numbers=options.rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
