"""Memory that runs out in a pass that keeps no shards: it begins again with half of the batch, and says so."""

import re

import numpy as np
import pytest

import headscope as hs
from headscope.maps.maps_source import MapsSource
from headscope.running import extraction as extraction_module
from headscope.running.extraction import MapOptions, extract
from headscope.running.run_cost import run_cost
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from support.docs import accumulator_of_the_docs
from support.short_memory import Short
from support.small_runs import sharded_options


@pytest.fixture
def loaded():
    """The embedded model."""
    return hs.load_model()


@pytest.fixture
def short(loaded, monkeypatch):
    """What it has memory for: eight inputs, enough for those that it is tried on at the start."""
    return Short(loaded.model, monkeypatch, room=8)


LINES = [f"The {who} {what}." for who in ("man", "dog", "cat", "boy") for what in ("sat", "came", "left", "saw")]
NOTE = "memory ran out with 16 inputs computed together; it went on with 8 (--batch-size)"


def test_a_scan_of_accumulators_of_ones_own_goes_on(loaded, short):
    mine = accumulator_of_the_docs()
    with pytest.warns(UserWarning, match=re.escape(NOTE)):
        (less,) = hs.scan(LINES, [mine()], model=loaded, packing="single", batch_size=16)
    assert short.tried.count(16) == 1
    short.room = 16
    (whole,) = hs.scan(LINES, [mine()], model=loaded, packing="single", batch_size=16)
    np.testing.assert_allclose(less["encoder"].value, whole["encoder"].value, atol=1e-6)


def test_it_keeps_what_it_does_not_declare(loaded, short):
    class Counting(accumulator_of_the_docs()):
        """Needs an argument, and counts beside what it declares."""

        def __init__(self, step):
            self.step, self.ended = step, 0
            super().__init__()

        def end(self, batch):
            """Count the batch's inputs."""
            super().end(batch)
            self.ended += self.step * len(batch.segments)

    mine = Counting(10)
    with pytest.warns(UserWarning, match="memory ran out"):
        hs.scan(LINES, [mine], model=loaded, packing="single", batch_size=16)
    assert mine.ended == 10 * len(LINES)


@pytest.mark.slow
def test_statistics_without_a_folder_go_on(loaded, short):
    study = hs.stats(loaded, text=LINES, packing="single", batch_size=16)
    assert NOTE in study.manifest["notes"]
    short.room = 16
    whole = hs.stats(loaded, text=LINES, packing="single", batch_size=16)
    ours, theirs = (each.tables["stats"]["value"].to_numpy() for each in (study, whole))
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_maps_are_written_from_the_start(loaded, short, tmp_path, monkeypatch):
    monkeypatch.setattr(extraction_module, "load_model", lambda *_, **__: loaded)
    (tmp_path / "text.txt").write_text("\n".join(LINES))
    options = RunOptions(text=(str(tmp_path / "text.txt"),), packing="single", batch_size=16)
    extraction = extract(options, tmp_path / "maps", MapOptions())
    assert short.tried.count(16) == 1
    assert extraction.notes == (NOTE,)
    assert extraction.counts.segments == 16
    assert len(MapsSource(tmp_path / "maps").index.entries) == 16


def test_a_dry_run_times_what_there_is_room_for(tmp_path, monkeypatch):
    run = prepare(sharded_options(tmp_path, repeats=12, stages=("stats",)))
    short = Short(run.model.loaded.model, monkeypatch, room=3)
    assert run_cost(run).seconds > 0
    assert max(short.tried) > 3
    assert max(short.tried[-2:]) <= 3
