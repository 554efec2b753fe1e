"""The probe over attention alone comes to its optimum: against scipy on the same loss, from wherever it begins."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from headscope.analyses.probes.parsers import attention_fit
from headscope.analyses.probes.parsers.attention_fit import FitOptions, fit_attention
from headscope.analyses.probes.parsers.attention_probes import AttentionProbe
from headscope.analyses.probes.parsers.newton import flat_weights, set_weights
from headscope.analyses.probes.parsers.probe_training import hold_out
from headscope.analyses.probes.probe_data import SPECIAL
from support.probe_data import made_up_tables, made_up_trees, on_disk, probe_data

pytestmark = pytest.mark.slow


def rest_on_the_first(sentences):
    """Head 1 looks at the head word; all words but the root rest on the first special token with half of it."""
    tables = made_up_tables(sentences, planted=0.0)
    for sentence, table in zip(sentences, tables):
        for word, head in enumerate(sentence.heads.tolist()):
            row = table[word + SPECIAL, :, 1]
            row *= 0.3 if head else 1.0
            if head:
                row[head - 1 + SPECIAL] += 0.3
                row[0] += 0.4
    return tables


@pytest.fixture(scope="module", params=["looked at by the root", "rested on by the others"])
def planted(request, tmp_path_factory):
    sentences = made_up_trees(120, documents=12)
    tables = made_up_tables(sentences, planted=0.5) if "root" in request.param else rest_on_the_first(sentences)
    return sentences, probe_data(sentences, on_disk(tmp_path_factory.mktemp("maps") / "maps", tables))


def held_of(sentences, seeds=(0,)):
    return np.stack([hold_out([s.document for s in sentences], seed=seed) for seed in seeds])


def fitted(data, held, *, seeds=(0,), tasks=None, special=True, **options):
    probe = AttentionProbe(tasks or (0,) * len(seeds), 3, special=special, seeds=seeds)
    return probe, fit_attention(probe, data, held, options=FitOptions(**options))


def loss_of(probe, data, held):
    """Nats a word of what a single run trains on."""
    batch = data.batch(data.numbers)
    judged = probe.judge(batch)
    mine = ~torch.from_numpy(held[0][data.numbers])
    return (judged.loss[0] * mine).sum() / (judged.counts * mine).sum()


def by_scipy(data, held, starts, *, special=True, task=0):
    """The lowest loss that scipy's L-BFGS finds from several starts, by torch's own gradient."""
    probe = AttentionProbe((task,), 3, special=special, seeds=(0,))
    root = probe.root.share if special else probe.root.constant

    def at(flat):
        set_weights(probe, torch.from_numpy(flat)[None])
        probe.zero_grad()
        loss = loss_of(probe, data, held)
        loss.backward()
        slope = torch.cat([probe.weights.grad.flatten(), root.grad.flatten()])
        return float(loss.detach()), slope.double().numpy()

    options = {"maxiter": 3000, "maxfun": 6000, "ftol": 1e-9, "gtol": 1e-6}
    return min(minimize(at, start, jac=True, method="L-BFGS-B", options=options).fun for start in starts)


def draws(size, number=3):
    return 2 * np.random.default_rng(5).normal(size=(number, size))


@pytest.mark.parametrize(("special", "task"), [(True, 0), (True, 1), (False, 0)])
def test_it_comes_to_the_optimum_that_scipy_finds(special, task, planted):
    sentences, data = planted
    held = held_of(sentences)
    probe, found = fitted(data, held, tasks=(task,), special=special)
    lowest = by_scipy(data, held, draws(8 if special else 7), special=special, task=task)
    assert found.settled.all()
    assert found.gap[0] <= 1e-4
    assert float(loss_of(probe, data, held).detach()) == pytest.approx(found.loss[0], abs=1e-5)
    assert abs(found.loss[0] - lowest) < 1e-3


def test_first_weights_play_no_part(planted):
    """Runs differ by what they hold out alone: of a loss with one optimum another start is no other probe."""
    sentences, data = planted
    weights = [flat_weights(fitted(data, held_of(sentences), seeds=(seed,))[0]) for seed in range(3)]
    assert all(torch.equal(weights[0], each) for each in weights)


@pytest.mark.parametrize("drawn", [2, 4])
def test_the_lowest_of_several_optima_is_found(drawn, tmp_path):
    """Of these sentences the root's shares make two valleys or more, up to 0.14 nats apart, seen with scipy."""
    every = made_up_trees(120, documents=12)
    sentences = [every[place] for place in np.random.default_rng(drawn).permutation(120)[:90]]
    data = probe_data(sentences, on_disk(tmp_path / "maps", rest_on_the_first(sentences)))
    held = held_of(sentences)
    found = fitted(data, held)[1].loss[0]
    losses = [by_scipy(data, held, [start]) for start in draws(8, 8)]
    assert max(losses) - min(losses) > 0.03
    assert found - min(losses) < 1e-3


@pytest.mark.parametrize("planted", ["rested on by the others"], indirect=True)
def test_a_sample_shows_where_to_begin_and_everything_says_where_to_end(planted, monkeypatch):
    sentences, data = planted
    whole = fitted(data, held_of(sentences))[1]
    monkeypatch.setattr(attention_fit, "_PER_WEIGHT", 12)
    seen = []
    plain = attention_fit._Fit.descend

    def noted(self, start, numbers, **more):
        seen.append(len(numbers))
        return plain(self, start, numbers, **more)

    monkeypatch.setattr(attention_fit._Fit, "descend", noted)
    found = fitted(data, held_of(sentences))[1]
    assert len(set(seen[:8])) == 1
    assert 8 <= seen[0] < 40
    assert set(seen[8:]) == {120}
    assert found.loss[0] == pytest.approx(whole.loss[0], abs=1e-3)
    assert found.passes < whole.passes


def test_a_run_is_the_same_alone_and_among_others(planted):
    sentences, data = planted
    held = held_of(sentences, (0, 1))
    both, of_both = fitted(data, held, seeds=(0, 1))
    alone, of_one = fitted(data, held[1:], seeds=(1,))
    assert of_both.loss[1] == pytest.approx(of_one.loss[0], abs=2e-4)
    assert abs(of_both.loss[0] - of_both.loss[1]) > 1e-6 or max(of_both.loss) < 1e-4
    batch = data.batch(data.numbers)
    heads = [each.scores(batch).argmax(-1)[at] for each, at in ((both, 1), (alone, 0))]
    assert (heads[0] == heads[1])[batch.valid].float().mean() > 0.98


def test_the_same_seed_gives_the_same_weights(planted):
    sentences, data = planted
    one, two = (fitted(data, held_of(sentences), seed=3)[0] for _ in range(2))
    assert torch.equal(flat_weights(one), flat_weights(two))


def test_nothing_is_learned_from_what_is_held_out(planted):
    sentences, data = planted
    held = held_of(sentences)
    trees = [np.zeros_like(tree) if out else tree for tree, out in zip(data.targets[0], held[0])]
    other = replace(data, targets=[trees, data.targets[1]])
    assert torch.equal(flat_weights(fitted(data, held)[0]), flat_weights(fitted(other, held)[0]))


def test_passes_that_do_not_suffice_are_not_called_settled(planted):
    sentences, data = planted
    found = fitted(data, held_of(sentences), passes=2)[1]
    assert not found.settled.any()
    assert found.gap[0] > 1e-4
