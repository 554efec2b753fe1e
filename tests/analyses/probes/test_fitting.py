"""Training: what is held out, which epoch is kept, what a run owes to the others, and whether anything is learned."""

import numpy as np
import pytest
import torch

from headscope.analyses.probes.parsers.attention_probes import AttentionProbe, AttentionWordsProbe
from headscope.analyses.probes.parsers.decoding import LabelProbe, answer, best_tree, is_tree
from headscope.analyses.probes.parsers.distances_and_words import DistanceWordsProbe
from headscope.analyses.probes.parsers.probe_training import Falling, TrainingOptions, hold_out, train
from headscope.analyses.probes.tree_sentences import UNKNOWN, kinds_of
from support.probe_data import WORDS, made_up_tables, made_up_trees, on_disk, probe_data

VECTORS = torch.eye(len(WORDS))


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """Head 1 looks at each word's head with 0.9 of its attention, the others anywhere."""
    sentences = made_up_trees(80, documents=12)
    tables = made_up_tables(sentences, planted=0.9)
    return sentences, on_disk(tmp_path_factory.mktemp("maps") / "maps", tables)


def test_a_tenth_of_the_documents_is_held_out():
    documents = [f"doc{place % 23}" for place in range(200)]
    held = hold_out(documents, seed=3)
    chosen = {name for name, out in zip(documents, held) if out}
    assert len(chosen) == 2
    assert [name in chosen for name in documents] == held.tolist()
    assert hold_out(documents, seed=3).tolist() == held.tolist()
    assert any(hold_out(documents, seed=seed).tolist() != held.tolist() for seed in range(5))


def test_of_one_document_a_tenth_of_the_sentences_is():
    assert hold_out(["only"] * 40, seed=0).sum() == 4
    assert hold_out(["only"] * 3, seed=0).sum() == 1


def test_batches_are_small_for_small_treebanks():
    sizes = [TrainingOptions.of(n, weights=1, seed=0).sentences for n in (10, 4000, 12_544, 40_000)]
    assert sizes == [4, 10, 31, 32]


def test_an_epoch_of_a_small_treebank_is_of_several_passes():
    """After a handful of steps, that the loss gained little says little."""
    passes = [TrainingOptions.of(n, weights=1, seed=0).passes for n in (1, 10, 200, 12_544)]
    assert passes == [200, 20, 1, 1]


def test_passes_go_through_everything_each_in_another_order(planted, monkeypatch):
    sentences, maps = planted
    data = probe_data(sentences, maps)
    probe = AttentionProbe((0,), 3, special=True, seeds=(0,))
    held = np.stack([hold_out([s.document for s in sentences], seed=0)])
    seen, plain = [], probe.judge

    def noted(batch):
        if torch.is_grad_enabled():
            seen.append(batch.sentences.tolist())
        return plain(batch)

    monkeypatch.setattr(probe, "judge", noted)
    train({"it": probe}, data, held, options=TrainingOptions(sentences=8, epochs=1, passes=2))
    halves = seen[: len(seen) // 2], seen[len(seen) // 2 :]
    assert [sorted(number for batch in half for number in batch) for half in halves] == [list(range(80))] * 2
    assert halves[0] != halves[1]


@pytest.mark.parametrize("kind", ["attention", "words"])
def test_a_planted_head_is_found(kind, planted):
    sentences, maps = planted
    data = probe_data(sentences, maps)
    probe = (
        AttentionProbe((0,), 3, special=True, seeds=(0,))
        if kind == "attention"
        else AttentionWordsProbe((0,), 3, VECTORS, special=True, seeds=(0,))
    )
    probe.rate = 0.1
    held = np.stack([hold_out([s.document for s in sentences], seed=0)])
    record = train({"it": probe}, data, held, options=TrainingOptions(sentences=4, epochs=5))["it"]
    assert len(record.losses) <= 5
    found = answer(probe, data, weights=1 << 20)
    assert (found.heads == found.targets).mean() > 0.95
    if kind == "attention":
        # dependent->head of head 1 is what tells.
        assert int(probe.weights[0].abs().argmax()) == 3 + 1


def test_control_tasks_are_learned_beside_the_tree(planted):
    """That every word points at the first one can be read off distances only where the sentence begins."""
    sentences, _ = planted
    data = probe_data(sentences, None)
    probe = DistanceWordsProbe((0, 1), VECTORS, seeds=(0, 0), hidden=16)
    probe.rate = 0.05
    held = np.stack([hold_out([s.document for s in sentences], seed=0)])
    train({"it": probe}, data, held, options=TrainingOptions(sentences=4, epochs=6))
    found = answer(probe, data, weights=1 << 20)
    assert (found.targets[1] == 1).all()
    tree, control = (found.heads == found.targets).mean(1)
    assert control > tree + 0.1


def test_a_run_is_the_same_alone_and_among_others(planted):
    sentences, maps = planted
    data = probe_data(sentences, maps)
    documents = [sentence.document for sentence in sentences]
    held = np.stack([hold_out(documents, seed=seed) for seed in (0, 1)])
    how = TrainingOptions(sentences=8, epochs=6, falling=Falling(falls=1))
    both = AttentionProbe((0, 0), 3, special=True, seeds=(0, 1))
    records = train({"it": both}, data, held, options=how)
    alone = AttentionProbe((0,), 3, special=True, seeds=(1,))
    record = train({"it": alone}, data, held[1:], options=how)
    assert records["it"].best[1] == record["it"].best[0]
    assert [each[1] for each in records["it"].shares][: len(record["it"].shares)] == np.ravel(
        record["it"].shares
    ).tolist()
    torch.testing.assert_close(both.weights[1], alone.weights[0], rtol=1e-4, atol=1e-4)


def test_nothing_is_learned_from_what_is_held_out(planted):
    """Whatever the trees of the held-out sentences say, the weights after one epoch are the same."""
    sentences, maps = planted
    held = np.stack([hold_out([s.document for s in sentences], seed=0)])
    weights = []
    for other in (False, True):
        data = probe_data(sentences, maps)
        if other:
            targets = [np.zeros_like(t) if out else t for t, out in zip(data.targets[0], held[0])]
            data.targets[0][:] = targets
        probe = AttentionProbe((0,), 3, special=True, seeds=(0,))
        train({"it": probe}, data, held, options=TrainingOptions(sentences=8, epochs=1))
        weights.append(probe.weights.detach())
    assert torch.equal(*weights)


class Scripted:
    """A probe's losses on what is held out, as written; its weights are noted after each epoch."""

    def __init__(self, probe, losses):
        self.plain, self.probe, self.losses, self.seen = probe.judge, probe, losses, []

    def __call__(self, batch):
        judged = self.plain(batch)
        if torch.is_grad_enabled():
            self.learning = True
            return judged
        if self.learning:
            self.learning = False
            self.seen.append(self.probe.weights.detach().clone())
        now = torch.tensor(self.losses[len(self.seen) - 1])[:, None]
        judged.loss.copy_(now * judged.counts)
        return judged


def test_the_best_epoch_is_kept_only_after_the_rate_has_fallen(planted, monkeypatch):
    sentences, maps = planted
    data = probe_data(sentences, maps)
    held = np.stack([hold_out([s.document for s in sentences], seed=0)] * 2)
    probe = AttentionProbe((0, 0), 3, special=True, seeds=(0, 1))
    # Both get worse at once; the first a little better only when its rate has fallen twice, the second at its second.
    losses = [[1.0, 1.0], [2.0, 2.0], [2.0, 0.5], [0.995, 0.4], [0.1, 0.6], [0.1, 0.6], [0.1, 0.1]]
    scripted = Scripted(probe, losses)
    monkeypatch.setattr(probe, "judge", scripted)
    optimizers, adam = [], torch.optim.Adam
    monkeypatch.setattr(torch.optim, "Adam", lambda weights: optimizers.append(adam(weights)) or optimizers[-1])
    how = TrainingOptions(sentences=8, falling=Falling(least_gain=0.01, factor=0.1, falls=2))
    record = train({"it": probe}, data, held, options=how)["it"]
    shares = [[1, 1], [1, 1], [0.1, 0.1], [0.01, 0.1], [0, 0.1], [0, 0.01]]
    np.testing.assert_allclose(np.array(record.shares), shares)
    # The first ended with its fourth epoch and gained nothing later; the second with its sixth, the last of all.
    assert len(record.losses) == len(scripted.seen) == 6
    assert record.best.tolist() == [4, 4]
    assert record.settled.all()
    assert torch.equal(probe.weights[0], scripted.seen[3][0])
    assert torch.equal(probe.weights[1], scripted.seen[3][1])
    # Each run starts with new moments where it returns to its best: the first twice, the second three times.
    assert len(optimizers) == 2 + 2 + 3
    # Where it went up it goes on from its best: one epoch at a tenth of the rate is not far from there.
    gone = (scripted.seen[2] - scripted.seen[0]).abs().max()
    assert gone < 0.3 * (scripted.seen[1] - scripted.seen[0]).abs().max()


def test_epochs_that_do_not_suffice_are_not_called_settled(planted):
    sentences, maps = planted
    held = np.stack([hold_out([s.document for s in sentences], seed=0)])
    probe = AttentionWordsProbe((0,), 3, VECTORS, special=True, seeds=(0,))
    how = TrainingOptions(sentences=8, epochs=2)
    assert not train({"it": probe}, probe_data(sentences, maps), held, options=how)["it"].settled.any()


def test_where_nothing_is_held_out_the_loss_on_train_says_when_to_stop(planted):
    sentences, maps = planted
    probe = AttentionWordsProbe((0,), 3, VECTORS, special=True, seeds=(0,))
    nothing = np.zeros((1, len(sentences)), dtype=bool)
    how = TrainingOptions(sentences=8, epochs=4)
    record = train({"it": probe}, probe_data(sentences, maps), nothing, options=how)["it"]
    assert record.best[0] == 4
    assert (np.diff(np.ravel(record.losses)) < 0).all()


def test_the_same_seed_gives_the_same_weights(planted):
    sentences, maps = planted
    held = np.stack([hold_out([s.document for s in sentences], seed=0)])
    found = []
    for seed in (0, 0, 1):
        probe = AttentionWordsProbe((0,), 3, VECTORS, special=True, seeds=(0,))
        how = TrainingOptions(sentences=8, epochs=2, seed=seed)
        train({"it": probe}, probe_data(sentences, maps), held, options=how)
        found.append(probe.weights.detach())
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_answers_come_in_the_order_of_the_sentences(planted):
    sentences, maps = planted
    data = probe_data(sentences, maps)
    names = kinds_of(sentences, relations=True)
    probe = AttentionWordsProbe((0, 0, 1), 3, VECTORS, special=True, seeds=(0, 1, 2))
    labels = LabelProbe(2, 3, len(names), VECTORS, seeds=(0, 1))
    found = answer(probe, data, labels=labels, trees=(1,), weights=1 << 12)
    start = 0
    for number, sentence in enumerate(sentences):
        stop = start + len(sentence)
        batch = data.batch(data.numbers[number : number + 1])
        scores = probe.scores(batch).detach()
        heads = scores.argmax(3)[:, 0]
        assert found.heads[:, start:stop].tolist() == heads.tolist()
        assert found.targets[0, start:stop].tolist() == sentence.heads.tolist()
        assert found.targets[2, start:stop].tolist() == [1] * len(sentence)
        tree = found.trees[0, start:stop]
        assert is_tree(tree)
        assert tree.tolist() == best_tree(scores[1, 0].numpy()).tolist()
        own = labels.answers(batch, heads[:2, None])[:, 0]
        assert found.labels[:, start:stop].tolist() == own.tolist()
        assert ((own == UNKNOWN) == (heads[:2] == 0)).all()
        start = stop
    assert start == found.heads.shape[1]
