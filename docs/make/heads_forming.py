"""Make docs/images/heads-forming.png: train a small BERT on a treebank, and score every checkpoint on another.

About six minutes of one core's time. A run that was stopped goes on where it was.
"""

import argparse
import time
from pathlib import Path

from headscope.scans.declarations.run_options import RunOptions
from headscope.present.figures.saving import png_bytes
from headscope.scans.prepare.prepared_run import prepare
from headscope.present.study import Study, open_study
from headscope.running.writing import write_run
from headscope.storage.atomic import write_bytes
from headscope_train import train
from headscope_train.heads_forming import accuracy_course, behavior_courses, heads_forming, relation_courses
from headscope_train.session import TrainingProgress

RELATIONS = ("det", "case", "nsubj", "obj", "aux", "mark")
IMAGE = Path(__file__).parents[1] / "images" / "heads-forming.png"


def score(model: Path, treebank: Path, out: Path) -> Study:
    """Measure the attention of heads, and the relations that they find, without a page."""
    options = RunOptions(
        model=str(model),
        treebank=(str(treebank),),
        stages=("stats", "syntax"),
        packing="single",
        max_length=64,
        fold_labels=True,
        controls=0,
    )
    write_run(prepare(options), out)
    return open_study(out)


def say(progress: TrainingProgress) -> None:
    """Print the accuracy at a checkpoint, if it was measured."""
    if progress.accuracy is not None:
        print(f"step {progress.step}: {100 * progress.accuracy:.1f}% of masked words", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", type=Path, required=True, help="CoNLL-U file to train on")
    parser.add_argument("--score", type=Path, required=True, help="CoNLL-U file of other documents, to find heads in")
    parser.add_argument("--work", type=Path, default=Path("heads-forming"), help="folder for all that is made")
    parser.add_argument("--image", type=Path, default=IMAGE)
    parser.add_argument("--size", default="4x4x128")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--every", type=int, default=250)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    training = train(
        size=given.size,
        treebank=given.train,
        vocabulary=2000,
        max_length=64,
        steps=given.steps,
        every=given.every,
        out=given.work / "model",
        watch=say,
    )
    print(f"trained after {time.perf_counter() - began:.0f} s", flush=True)
    studies = {
        step: score(folder, given.score, given.work / f"scores-{step:06d}")
        for step, folder in training.checkpoints.items()
    }
    courses = [
        accuracy_course(training.log),
        *behavior_courses({step: study.stats for step, study in studies.items()}, statistics=["previous"]),
        *relation_courses({step: study.table("syntax_best") for step, study in studies.items()}, relations=RELATIONS),
    ]
    write_bytes(given.image, png_bytes(heads_forming(courses)))
    print(f"{given.image} after {time.perf_counter() - began:.0f} s")
    for course in courses:
        print(course.title, *(f"{value:.3f}" for value in course.points["value"]), f"rule {course.rule:.3f}")
