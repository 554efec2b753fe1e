"""Made-up runs, their atlases on disk, and the browser."""

import pytest

from headscope.atlas.atlas_page import write_atlas
from support import mock_inputs
from support.mock_distances import with_distances
from support.mock_study import write_study

__all__ = ["inputs", "sites", "studies", "visit"]


@pytest.fixture(scope="session")
def inputs():
    """What the runs are made of, by name."""
    return {
        "whole": with_distances(mock_inputs.section_4()),
        "bare": mock_inputs.encoder(2, 3),
        "few": mock_inputs.section_4(2, 3, documents=4),
        "two": with_distances(mock_inputs.two_kinds()),
        "t5": mock_inputs.t5(),
        "hostile": with_distances(mock_inputs.hostile_section_4()),
        "tokens": with_distances(mock_inputs.hostile()),
    }


@pytest.fixture(scope="session")
def studies(inputs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies")
    return {name: write_study(one, folder / name, clearest=name != "bare") for name, one in inputs.items()}


@pytest.fixture(scope="session")
def sites(studies, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sites")
    return {name: write_atlas(study, folder / name) for name, study in studies.items()}


@pytest.fixture
def visit(visit_file, sites):
    return lambda name, **options: visit_file(sites[name], **options)
