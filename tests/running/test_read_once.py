"""What models are given: a control is made once, the model is examined once, and no stage reads a text twice."""

from collections import Counter, defaultdict

import pytest

from headscope.attention.model.model_pass import ModelPass
from headscope.running.stages import measure
from headscope.running.writing import write_run
from headscope.scans.declarations.analysis_list import STAGES
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.examples.example_tables import example_tokens
from headscope.scans.prepare import reading_model
from headscope.scans.prepare.prepared_run import prepare
from support.demo_treebank import demo_conllu
from support.model_folders import save_tiny_masked_lm

DOCUMENTS = 100
SENTENCES = ["The cat {0} sat on mat {1} and looked at the rain.", "Then it slept for {0} hours and {1} minutes."]
# Those that read the same once for each of what they train or change, or with another model, and those that read what
# others have found.
BY_THEMSELVES = {"probes", "effects", "compare", "why"}
ASKED = sorted({stage.request_name for stage in STAGES.values() if not stage.after} - BY_THEMSELVES)


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    folder = tmp_path_factory.mktemp("once")
    (folder / "trees.conllu").write_text(demo_conllu(1, DOCUMENTS), encoding="utf-8")
    text = "\n\n".join("\n".join(line.format(n, k) for k in range(5) for line in SENTENCES) for n in range(DOCUMENTS))
    (folder / "text.txt").write_text(text)
    return {
        "model": str(save_tiny_masked_lm(folder / "tiny")),
        "text": (str(folder / "text.txt"),),
        "treebank": (str(folder / "trees.conllu"),),
        "coref": (str(folder / "trees.conllu"),),
        "max_length": 64,
        "loss": "mlm",
    }


@pytest.fixture
def given(monkeypatch):
    """What each model was given, in the order of their first call: how often each input, by its tokens."""
    models, inputs, call = [], defaultdict(Counter), ModelPass.call

    def noted(self, batch, **more):
        if all(self.model is not model for model in models):
            models.append(self.model)
        number = next(place for place, model in enumerate(models) if model is self.model)
        for row, seen in zip(batch["input_ids"], batch["attention_mask"], strict=True):
            inputs[number][tuple(row[seen.bool()].tolist())] += 1
        return call(self, batch, **more)

    monkeypatch.setattr(ModelPass, "call", noted)
    return inputs


def tokens(inputs, *, beyond=0):
    return sum(len(one) * max(0, times - beyond) for one, times in inputs.items())


@pytest.mark.slow
@pytest.mark.parametrize("asked", ASKED)
def test_no_stage_reads_its_text_twice(options, given, asked):
    """No more than a tenth of the inputs is given to a model again, for examples; a control reads a part, once."""
    for _ in measure(prepare(RunOptions(**options, stages=(asked,), controls=1))):
        pass
    own, *controls = given.values()
    once = tokens(own) - tokens(own, beyond=1)
    assert tokens(own, beyond=1) <= 0.11 * once, Counter(own.values())
    for control in controls:
        assert tokens(control, beyond=1) == 0
        assert tokens(control) < 0.75 * once


def test_long_lines_without_a_sentence_are_not_read_again_for_examples(options, given, tmp_path):
    """Their shortest inputs stand in for sentences; eight of twelve long ones were read again."""
    long = tmp_path / "long.txt"
    long.write_text("\n\n".join(f"{number} " + "cat rain mat sleep " * 100 for number in range(12)))
    asked = {**options, "text": (str(long),), "packing": "single", "max_length": 400}
    for _ in measure(prepare(RunOptions(**asked, stages=("stats",)))):
        pass
    (own,) = given.values()
    once = tokens(own) - tokens(own, beyond=1)
    assert once > 12 * 390
    # So much for sentences that all heads are drawn on, and so much for those in which each does most.
    assert tokens(own, beyond=1) <= 2 * example_tokens(once), Counter(own.values())


@pytest.mark.slow
def test_a_report_makes_each_control_once_and_examines_one_model(options, tmp_path, monkeypatch):
    calls = []
    for name in ("examine", "with_random_weights"):
        own = getattr(reading_model, name)
        monkeypatch.setattr(
            reading_model, name, lambda *of, name=name, own=own, **how: calls.append((name, how)) or own(*of, **how)
        )
    stages = ("behaviors", "experiments", "syntax", "coref")
    write_run(prepare(RunOptions(**options, stages=stages, controls=2, max_inputs=20)), tmp_path / "run")
    assert calls == [("examine", {})] + [("with_random_weights", {"seed": seed}) for seed in (0, 1)]


@pytest.mark.slow
def test_large_controls_are_not_held_together(options, monkeypatch):
    monkeypatch.setattr(reading_model, "_CONTROL_BYTES", 0)
    run = prepare(RunOptions(**options, stages=("syntax",), controls=2, max_inputs=20))
    first = run.over([], control=0).model
    assert run.over([], control=0).model is first
    assert run.over([], control=1).model is not first
    assert run.over([], control=0).model is not first
