"""What a run says of itself while it goes on."""

import pytest

from headscope.app.cli import printing
from headscope.app.cli.printing import ProgressPrinter, describe, stage_done
from headscope.reporting.atlas_files import run_report
from headscope.running.stages import watched_stages
from headscope.scans.declarations.analysis_list import SKIPPABLE, STAGES
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from headscope.scans.progress import Progress, TimeLeft
from headscope.visible import duration
from support.undrawn import leave_drawing_out


@pytest.mark.parametrize(
    ("progress", "line"),
    [
        (
            Progress("reading heads", 30, 120, 700, None, 10.0),
            "reading heads: 30 of 120 documents, 700 inputs, 3.0 documents/s, 30 s left",
        ),
        (
            Progress("reading heads", 1_500, None, 2_000, None, 100.0),
            "reading heads: 1,500 documents, 2,000 inputs, 15.0 documents/s",
        ),
        (Progress("reading heads", 0, 120, 16, None, 5.0), "reading heads: 0 of 120 documents, 16 inputs"),
        (
            Progress("structural probe", 0, None, 3, 9, 60.0, "probes"),
            "structural probe: 3 of 9 probes, 0.1 probes/s, 2 min left",
        ),
        (
            Progress("vectors of train", 0, None, 2_304, None, 8.0, "sentences"),
            "vectors of train: 2,304 sentences, 288.0 sentences/s",
        ),
        (
            Progress("reading heads", 120, 120, 700, None, 10.0, None, 2, 6),
            "stage 2 of 6, reading heads: 120 of 120 documents, 700 inputs, 12.0 documents/s, working out the numbers",
        ),
        (Progress("loading the model"), "loading the model"),
        (Progress("drawing figures and pages", step=6, steps=6), "stage 6 of 6, drawing figures and pages"),
    ],
)
def test_a_state_in_one_line(progress, line):
    assert describe(progress) == line


def test_a_last_batch_may_go_beyond_the_limit_on_inputs():
    assert Progress("reading heads", segments=9, limit=8).share == 1.0


def test_a_stage_that_is_done_says_how_long_the_run_will_take(capsys):
    stage = Progress("effects", step=2, steps=4)
    assert stage_done(stage, seconds=20.0, left=10.0) == "stage 2 of 4, effects: done in 20 s, about 10 s left in all"
    assert stage_done(stage, seconds=20.0, left=None) == "stage 2 of 4, effects: done in 20 s"
    with ProgressPrinter() as watch:
        for step, left in ((1, 30.0), (1, 20.0), (2, 5.0)):
            watch(Progress("stats", step=step, steps=2, left=left))
    assert capsys.readouterr().err == ("headscope: stage 1 of 2, stats: done in 0 s, about 5 s left in all\n")
    assert describe(Progress("effects", 5, 10, 5, None, 10.0, left=200.0)).endswith("about 3 min left in all")


@pytest.mark.parametrize("speed", [0.2, 1.0, 8.0])
@pytest.mark.parametrize("inputs", [90, 3000])
@pytest.mark.parametrize("limit", [None, 5000])
def test_the_time_left_follows_the_machine_and_the_text(speed, inputs, limit):
    """A machine takes `speed` times as long; from the second step on the estimate is within 1.5.

    The limit on inputs may exceed the text, which the progress of the pass then does not show.
    """
    costs, passes, drawing, now, read = [1.0, 8.0, 9.0, 0.0, 12.0], [0, 0, 1, 0, 0], 5.0, 0.0, 0
    time_left = TimeLeft(
        costs,
        passes=passes,
        of_text=[0, 1, 2],
        tokens=lambda: read,
        drawing=drawing,
        clock=lambda: now,
        processor=lambda: now,
    )
    pass_seconds = speed * 0.0005 * 128 * inputs
    seconds = [speed * cost + number * pass_seconds for cost, number in zip(costs, passes)]
    told = [time_left.seconds(0, Progress("stats"))]
    for done in (inputs // 2, inputs):
        now, read = pass_seconds * done / inputs, 128 * done
        told.append(time_left.seconds(0, Progress("reading heads", 0, None, done, limit or inputs, now)))
    now = pass_seconds
    wrong = []
    for step in range(1, len(costs)):
        now += seconds[step - 1]
        left, true = time_left.seconds(step, Progress("next")), sum(seconds[step:]) + drawing
        if not 1 / 1.5 <= left / true <= 1.5:
            wrong.append((step, left, true))
        now += seconds[step] / 2
        assert time_left.seconds(step, Progress("next", 0, None, 9, 9, seconds[step] / 2)) <= left
        now -= seconds[step] / 2
    assert not wrong
    if limit is None:
        assert told[2] == pytest.approx(sum(seconds) + drawing, rel=0.5)


def test_what_depends_on_heads_takes_no_longer_with_a_slow_model():
    """A model eight times as slow: the second step's 20 seconds are fits to its heads, the third's 2 are passes."""
    now, read = 0.0, 0
    time_left = TimeLeft(
        [0.0, 0.0, 2.0],
        passes=[0, 0, 0],
        of_text=[0],
        of_heads=[0.0, 20.0, 0.0],
        tokens=lambda: read,
        drawing=5.0,
        clock=lambda: now,
        processor=lambda: now,
    )
    now = 8 * 0.0005 * 7300
    read = 7300
    time_left.seconds(0, Progress("reading heads", 0, None, 64, 64, now))
    assert time_left.seconds(1, Progress("next")) == pytest.approx(20 + 8 * 2 + 5, rel=0.2)
    now += 20
    assert time_left.seconds(2, Progress("next")) == pytest.approx(8 * 2 + 5, rel=0.2)


@pytest.mark.parametrize("of_text", [[], [0]])
def test_a_stage_that_knows_the_shares_of_its_scans_is_estimated_by_them(of_text):
    """Three scans of 64, 16 and 24 inputs at 2 s each; the declared cost of 30 s is far off, and is not used."""
    now = before = 0.0
    timing = {"clock": lambda: now, "processor": lambda: now}
    time_left = TimeLeft([30.0], passes=[0], of_text=of_text, tokens=lambda: 12_000, drawing=0.0, **timing)
    time_left.seconds(0, Progress("why"))
    wrong = []
    for inputs, until in ((64, 64 / 104), (16, 80 / 104), (24, 1.0)):
        for done in (inputs // 2, inputs):
            now += inputs
            progress = Progress("why", segments=done, limit=inputs, seconds=2.0 * done, before=before, until=until)
            if time_left.seconds(0, progress) != pytest.approx(208 - now):
                wrong.append((inputs, done, time_left.seconds(0, progress)))
        before = until
    assert not wrong


@pytest.mark.parametrize(("share", "expected"), [(1.0, 10.0), (2.0, 10.0), (0.5, 20.0), (0.01, 40.0)])
def test_drawing_takes_longer_where_processors_are_shared(share, expected):
    now = 0.0
    timing = {"clock": lambda: now, "processor": lambda: now * share}
    time_left = TimeLeft([1.0], passes=[0], of_text=[], tokens=lambda: 0, drawing=10.0, **timing)
    now = 1000.0
    assert time_left.seconds(1, Progress("drawing")) == pytest.approx(expected, rel=0.01)


@pytest.mark.slow
def test_the_first_estimate_follows_controls_and_annotated_corpora():
    cases = {
        (1, 50, ("syntax",)): 2 * 50 / 500 + 1,
        (3, 500, ("syntax",)): 2 + 3,
        (2, 20, ("coref",)): 5 * 20 * 128 / 18_000 + 2,
        (2, 500, ("behaviors",)): 2 * 2,
        (1, 500, ("explanation",)): 1 + 12,
    }
    wrong = []
    for (controls, limit, names), expected in cases.items():
        run = prepare(RunOptions(controls=controls, max_inputs=limit, stages=names))
        told = []
        for _, watch in watched_stages(run, told.append):
            watch(Progress("reading"))
        if told[0].left != pytest.approx(expected, rel=0.2):  # the seconds since the start are subtracted
            wrong.append((names, told[0].left, expected))
    assert not wrong


def test_finished_stages_take_no_time(tmp_path):
    text = tmp_path / "my.txt"
    text.write_text("The cat sat.\n\n" * 3)
    run = prepare(RunOptions(text=(str(text),), stages=("stats", "behaviors"), packing="single"))
    lefts = []
    for finished in ((), ("behaviors",)):
        told = []
        for _, watch in watched_stages(run, told.append, further=1, finished=finished):
            watch(Progress("reading"))
        assert [(each.stage, each.step, each.steps) for each in told][-1] == ("drawing figures and pages", 3, 3)
        lefts.append(told[0].left)
    assert lefts[0] - lefts[1] == pytest.approx(3 * STAGES["behaviors"].control_cost, abs=1.0)


def test_a_run_tells_what_it_loads_measures_and_draws(tmp_path, monkeypatch):
    leave_drawing_out(monkeypatch)
    text = tmp_path / "my.txt"
    text.write_text("The cat sat.\nIt slept.\n\n" * 12)
    told = []
    options = RunOptions(text=(str(text),), stages=("stats", "distances"))
    run_report(options, out=tmp_path / "run", watch=told.append)
    begun = [(each.stage, each.step, each.steps) for each in told if not each.begun]
    assert begun[:3] == [("reading the corpus", None, None), ("loading the model", None, None), ("stats", 1, 3)]
    assert begun[-1] == ("drawing figures and pages", 3, 3)


def test_silence_is_broken(monkeypatch, capsys):
    monkeypatch.setattr(printing, "_LONGEST_SILENCE", 0.0)
    monkeypatch.setattr(printing, "_TICK", 0.001)
    said = ""
    with ProgressPrinter() as watch:
        watch(Progress("drawing figures and pages", step=2, steps=2))
        while "drawing" not in said:
            said += capsys.readouterr().err
    assert "headscope: stage 2 of 2, drawing figures and pages, 0 s so far\n" in said
    capsys.readouterr()
    with ProgressPrinter(quiet=True) as watch:
        watch(Progress("drawing figures and pages"))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("command", ["stats", "report"])
def test_no_note_is_printed_twice(command, cli, tmp_path, monkeypatch):
    leave_drawing_out(monkeypatch)
    text = tmp_path / "my.txt"
    text.write_text("The cat sat.\n")
    only = [] if command == "stats" else [f"--skip={name}" for name in SKIPPABLE if name != "stats"]
    for quiet in ([], ["-q"]):
        out_folder = [] if command == "stats" else ["--out", tmp_path / f"out{len(quiet)}"]
        _, out, err = cli(command, text, *quiet, *only, *out_folder)
        notes = [line.partition("note: ")[2] for line in (out + err).splitlines() if "note: " in line]
        assert len(notes) == len(set(notes)) == 2, out + err


def test_times():
    assert [duration(seconds) for seconds in (89.4, 90.0, 7_140.0, 7_500.0)] == [
        "89 s",
        "2 min",
        "119 min",
        "2 h 5 min",
    ]
