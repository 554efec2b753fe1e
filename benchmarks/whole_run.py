"""The cost of a whole report: its processor time compared with the bare forward passes that its stages need.

Every call of a model is counted for the stage that makes it. A stage needs the inputs that no earlier call has given to
the same model; these are repeated, in the same batches, with the bare model with sdpa, in this process. Without --lines
this is the first report of the demonstration; --demo measures both reports of `make demo`, and prints their total. With
--lines, the text is the first lines of --text.
"""

import argparse
import gc
import json
import platform
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn

from headscope.app.entry import COLLECTION
from headscope.attention.model.model_pass import ModelPass
from headscope.reporting import atlas_files
from headscope.running import writing
from headscope.scans.declarations.run_options import RunOptions

TARGET = 1.25
# The reports of `make demo`, and the processor seconds that both may take in total.
DEMO = (
    RunOptions(include=("pca",), loss="mlm", max_inputs=500, controls=1),
    RunOptions(model="headscope-decoder", include=("pca",), loss="clm", max_inputs=150, controls=1),
)
DEMO_TARGET = 90
PAGES = "figures and pages"
BEFORE = "imports"


@dataclass
class Calls:
    """The inputs of all model calls, in order, and the processor time of every part of the run, in seconds.

    Attributes:
        at: the current part.
        seconds: processor time by part.
        segments: number of inputs by part.
        tokens: number of tokens by part.
        again: number of inputs, by part, that the same model had read for another stage.
        needed: the arguments of each call that a stage needs.
        models: models in the order of their first call; kept alive, so that each has a unique id.
    """

    at: str = "loading"
    seconds: Counter[str] = field(default_factory=Counter)
    segments: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    again: Counter[str] = field(default_factory=Counter)
    needed: list[dict[str, Tensor]] = field(default_factory=list)
    models: list[nn.Module] = field(default_factory=list)
    _read: dict[tuple[int, bytes], str] = field(default_factory=dict)

    def given(self, model: nn.Module, inputs: Mapping[str, Tensor]) -> None:
        """Record a call."""
        if all(model is not other for other in self.models):
            self.models.append(model)
        new = False
        for row, seen in zip(inputs["input_ids"], inputs["attention_mask"]):
            tokens = row[seen.bool()]
            key = id(model), tokens.numpy().tobytes()
            new = new or key not in self._read
            self.again[self.at] += self._read.setdefault(key, self.at) != self.at
            self.segments[self.at] += 1
            self.tokens[self.at] += len(tokens)
        if new:
            self.needed.append(dict(inputs))

    def timed(self, part: str, work: Any) -> Any:
        """Run a part, and record its processor time."""
        before, self.at = self.at, part
        began = time.process_time()
        try:
            return work()
        finally:
            self.seconds[part] += time.process_time() - began
            self.at = before


def watched(options: RunOptions, out: Path) -> Calls:
    """Run a report, and record its model calls and times."""
    calls = Calls()
    measure, draw, call = writing.measure_stage, atlas_files.draw, ModelPass.call

    def called(self: ModelPass, inputs: dict[str, Tensor], **more: Any) -> Any:
        calls.given(self.model, inputs)
        return call(self, inputs, **more)

    with ExitStack() as patched:
        patched.enter_context(patch.object(ModelPass, "call", called))
        patched.enter_context(
            patch.object(
                writing, "measure_stage", lambda stage, *given: calls.timed(stage.name, lambda: measure(stage, *given))
            )
        )
        patched.enter_context(patch.object(atlas_files, "draw", lambda study: calls.timed(PAGES, lambda: draw(study))))
        began = time.process_time()
        atlas_files.run_report(options, out=out)
        calls.seconds["loading"] = time.process_time() - began - calls.seconds.total()
    return calls


def bare(calls: Calls) -> float:
    """Return the processor time of the needed passes through the unmodified model, with sdpa, in seconds."""
    model = calls.models[0]  # controls have the same shape
    with torch.inference_mode():
        model(**calls.needed[0])
        began = time.process_time()
        for inputs in calls.needed:
            model(**inputs)
        return time.process_time() - began


def main() -> None:
    """Measure according to the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, help="how many lines of --text to read, in place of the demonstration")
    parser.add_argument("--text", type=Path, help="a file with one sentence a line")
    parser.add_argument("--model", help="the embedded one when not given")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--demo", action="store_true", help="both reports of make demo, and nothing else")
    given = parser.parse_args()
    gc.set_threshold(*COLLECTION)  # as the command does
    imports = time.process_time()  # since the process began; each command of a user takes as long
    with tempfile.TemporaryDirectory() as folder:
        if given.demo:
            seconds = [shown(options, Path(folder) / str(number), imports) for number, options in enumerate(DEMO)]
            together = {"demo_seconds": round(sum(seconds), 1), "target": DEMO_TARGET}
            print(json.dumps(together))
            return
        text: tuple[str, ...] = ()
        if given.lines is not None:
            with given.text.open(encoding="utf-8") as lines:
                content = "".join(islice(lines, given.lines))
            path = Path(folder) / "text.txt"
            path.write_text(content, encoding="utf-8")
            text = (str(path),)
        options = RunOptions(model=given.model, text=text, dtype=given.dtype)
        shown(options, Path(folder) / "report", imports)


def shown(options: RunOptions, out: Path, imports: float) -> float:
    """Run a report, print the inputs of each stage, the seconds of each part, and the ratio; return the seconds.

    Args:
        options: options of the report.
        out: its folder.
        imports: processor time before, in seconds.
    """
    calls = watched(options, out)
    calls.seconds[BEFORE] = imports
    whole, needed = calls.seconds.total(), bare(calls)
    print("| part | processor seconds | inputs | tokens | read before for another stage |")
    print("|---|---|---|---|---|")
    for part, seconds in sorted(calls.seconds.items(), key=lambda pair: -pair[1]):
        print(f"| {part} | {seconds:.1f} | {calls.segments[part]:,} | {calls.tokens[part]:,} | {calls.again[part]:,} |")
    measured = whole - imports
    found = {
        "model": str(options.model or "headscope-minilm"),
        "text": ", ".join(Path(one).name for one in options.text) or "demonstration",
        "dtype": options.dtype,
        "machine": f"{platform.machine()}, {torch.get_num_threads()} threads",
        "report_seconds": round(whole, 1),
        "needed_forward_seconds": round(needed, 1),
        "ratio": round(whole / needed, 3),
        "ratio_without_imports": round(measured / needed, 3),
        "target": TARGET,
        "read_twice_for_two_stages": calls.again.total(),
    }
    print(json.dumps(found))
    return whole


if __name__ == "__main__":
    main()
