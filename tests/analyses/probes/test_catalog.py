"""What every probe declares: a name of its own, a line of table 3 in the paper's order, a color that there is."""

import numpy as np
import pytest
import torch

from headscope.analyses.probes.parsers.learner import ArcProbe, ProbeInputs
from headscope.analyses.probes.tables import PARSERS, SYSTEMS
from headscope.present.figures.style import role_color
from support.probe_data import WORDS, made_up_tables, made_up_trees, on_disk, probe_data

INPUTS = ProbeInputs(heads=3, vectors=torch.eye(len(WORDS)), special=True)


def test_no_two_probes_share_a_name_or_a_line():
    names = [probe.name for probe in PARSERS]
    lines = [system.name for system in SYSTEMS.values()]
    assert len(set(names)) == len(names)
    assert len(set(lines)) == len(lines)


def test_table_3_has_the_papers_order():
    printed = [system.paper for system in SYSTEMS.values() if system.paper is not None]
    assert printed == [
        *("structural probe (UUAS)", "right-branching", "distances + GloVe", "random-init attention + GloVe"),
        *("attention", "attention + GloVe"),
    ]


@pytest.mark.parametrize("probe", PARSERS, ids=lambda probe: probe.name)
def test_a_probe_is_made_of_what_it_may_see_and_draws_by_its_seeds(probe):
    assert issubclass(probe, ArcProbe)
    assert probe.control is None or probe.reads_attention
    for system in (probe.system, probe.control):
        assert system is None or role_color(system.role).startswith("#")
    several = probe.of(INPUTS, (0, 0), seeds=(0, 1))
    alone = probe.of(INPUTS, (0,), seeds=(1,))
    assert several.runs == 2
    for name, weights in alone.named_parameters():
        assert torch.equal(weights[0], several.get_parameter(name)[1]), name


@pytest.mark.parametrize("probe", PARSERS, ids=lambda probe: probe.name)
def test_a_probe_scores_every_head_of_every_word(probe, tmp_path):
    sentences = made_up_trees(4)
    maps = on_disk(tmp_path / "maps", made_up_tables(sentences)) if probe.reads_attention else None
    data = probe_data(sentences, maps)
    batch = data.batch(data.numbers, device="cpu")
    with torch.no_grad():
        scores = probe.of(INPUTS, (0, 1), seeds=(0, 1)).scores(batch)
    size = batch.valid.shape[1]
    assert scores.shape == (2, len(sentences), size, size + 1)
    np.testing.assert_allclose(scores.exp().sum(-1).numpy(), 1.0, rtol=1e-5)
