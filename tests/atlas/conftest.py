"""Made-up runs, their atlases on disk, and the browser."""

import numpy as np
import pandas as pd
import pytest

from headscope.reporting.atlas_page import write_atlas
from support import mock_inputs
from support.made_once import MadeWhenRead
from support.measured import with_parts
from support.mock_behaviors import with_behaviors
from support.mock_distances import with_distances
from support.mock_distribution import with_distribution
from support.mock_explanation import with_explanation
from support.mock_pca import with_pca
from support.mock_study import write_study

__all__ = ["inputs", "sites", "studies", "visit"]

PIECES = ("he", "w", "ished", "frac", "##tions", "\u05d0", "\u05d1", "end")
HOSTILE = ("<b>", "<i>x", "\u202e", "&amp;")


def with_sentences(inputs, *texts):
    """Add sentences that every head is drawn on, its attention on each another one."""
    rng = np.random.default_rng(0)
    shared = inputs.examples[inputs.examples["behavior"] == "shared"]
    tables = [inputs.examples]
    for number, text in enumerate(texts):
        tokens = ["[CLS]", *text.split(), "[SEP]"]
        drawn = [rng.dirichlet(np.ones(len(tokens)), len(tokens)).reshape(-1).tolist() for _ in range(len(shared))]
        own = {"document": f"further-{number}", "weights": drawn}
        own |= {side: [tokens] * len(shared) for side in ("tokens", "keys")}
        tables.append(shared.assign(**own))
    return with_parts(inputs, examples=pd.concat(tables, ignore_index=True))


@pytest.fixture(scope="session")
def inputs():
    """What the runs are made of, by name."""
    return {
        "whole": with_distribution(with_distances(mock_inputs.section_4())),
        "sentences": with_sentences(with_distances(mock_inputs.encoder(2, 3)), "The second one .", "And a third !"),
        "doing": with_behaviors(with_distances(mock_inputs.section_4(4, 8))),
        "directed": with_pca(with_distances(mock_inputs.section_4(4, 6)), layers=(2, 3, 4)),
        "explained": with_explanation(
            mock_inputs.encoder(2, 3),
            annotated=("treebank",),
            sentences={(2, 1): "Attends to “never” (31%) and rare tokens (9.1%); 40% predicted"},
        ),
        "explained tokens": with_explanation(
            mock_inputs.encoder(1, 2), words=("<b>", "<i>x", "\u05d0", "\u05d1", "&amp;")
        ),
        "bare": mock_inputs.encoder(2, 3),
        "pieces": with_distribution(mock_inputs.encoder(1, 2), words=PIECES, joined=(2, 6)),
        "few": mock_inputs.section_4(2, 3, documents=4),
        "two": with_distances(mock_inputs.two_kinds()),
        "t5": mock_inputs.t5(),
        "hostile": with_distances(mock_inputs.hostile_section_4()),
        "tokens": with_pca(
            with_distribution(with_distances(mock_inputs.hostile()), sink=True, words=HOSTILE), words=HOSTILE, tokens=60
        ),
    }


@pytest.fixture(scope="session")
def studies(inputs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies")
    return MadeWhenRead(inputs, lambda name: write_study(inputs[name], folder / name, top_examples=name != "bare"))


@pytest.fixture(scope="session")
def sites(studies, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sites")
    return MadeWhenRead(studies, lambda name: write_atlas(studies[name], folder / name))


@pytest.fixture
def visit(visit_file, sites):
    return lambda name, **options: visit_file(sites[name], **options)
