"""Two heads with guided attention: against a plain loop, by hand, and in a training."""

import math

import pytest
import torch

from headscope.errors import OptionError
from headscope.models.anatomy import guided_heads
from headscope_train.guided_heads import STRENGTH, guiding_loss, strength_at
from headscope_train.training_options import TrainOptions
from headscope_train.training_run import train


def random_weights(seed=0, layers=2, batch=3, heads=2, length=12):
    scores = torch.randn(layers, batch, heads, length, length, generator=torch.Generator().manual_seed(seed))
    ahead = torch.ones(length, length, dtype=torch.bool).triu(1)
    return list(scores.masked_fill(ahead, float("-inf")).softmax(-1))


def by_a_plain_loop(weights, ids, valid):
    previous, copied = [], []
    for row in range(len(ids)):
        length = int(valid[row].sum())
        for query in range(length):
            if query:
                previous.append(-math.log(max(1e-6, weights[0][row, 0, query, query - 1].item())))
            if query + 1 == length:
                continue
            right = [
                key
                for key in range(1, query + 1)
                if ids[row, key - 1] == ids[row, query] and ids[row, key] == ids[row, query + 1]
            ]
            if right:
                weight = sum(weights[1][row, -1, query, key].item() for key in right)
                copied.append(-math.log(max(1e-6, weight)))
    return sum(previous) / len(previous) + (sum(copied) / len(copied) if copied else 0.0)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_what_a_plain_loop_counts(seed):
    weights = random_weights(seed)
    ids = torch.randint(0, 4, (3, 12), generator=torch.Generator().manual_seed(seed))
    valid = torch.ones_like(ids)
    valid[1, 9:] = 0
    valid[2, 5:] = 0
    assert guiding_loss(weights, ids, valid).item() == pytest.approx(by_a_plain_loop(weights, ids, valid), rel=1e-5)


def test_heads_that_look_where_they_are_shown():
    """In `a b c a b c`, rows 3 and 4 can copy the token after the first `a` and `b`; other rows do not count."""
    ids = torch.tensor([[7, 8, 9, 7, 8, 9]])
    previous, induction = torch.zeros(1, 1, 6, 6), torch.zeros(1, 1, 6, 6)
    for query in range(1, 6):
        previous[0, 0, query, query - 1] = 1
    induction[0, 0, 3, 1] = induction[0, 0, 4, 2] = 1
    right = guiding_loss([previous, induction], ids, torch.ones_like(ids))
    assert right.item() == pytest.approx(0.0, abs=1e-6)
    # The nearest mistakes are the row's own earlier occurrence on one side, and the next key on the other.
    for off in (-1, 1):
        wrong = torch.roll(induction, off, dims=3)
        assert guiding_loss([previous, wrong], ids, torch.ones_like(ids)).item() == pytest.approx(
            -math.log(1e-6), rel=1e-5
        )


def test_what_came_after_but_is_not_predicted_is_not_shown():
    """The second `a` is followed by `c`, so copying the `b` after the first would mislead."""
    ids = torch.tensor([[7, 8, 7, 9]])
    weights = random_weights(layers=2, batch=1, length=4)
    only_previous = -weights[0][0, 0].diagonal(offset=-1).log().mean()
    assert guiding_loss(weights, ids, torch.ones_like(ids)).item() == pytest.approx(only_previous.item())


def test_it_counts_less_and_less_and_then_nothing():
    assert strength_at(0, steps=100, share=0.2) == STRENGTH
    assert strength_at(10, steps=100, share=0.2) == pytest.approx(STRENGTH / 2)
    assert strength_at(20, steps=100, share=0.2) == strength_at(99, steps=100, share=0.2) == 0
    assert strength_at(0, steps=100, share=0.0) == 0


HOW = {
    "objective": "clm",
    "vocabulary": 300,
    "max_length": 48,
    "batch_size": 8,
    "repeated": 0.6,
    "learning_rate": 1e-2,
    "seed": 3,
    "steps": 300,
    "every": 300,
}


@pytest.mark.slow
def test_a_training_with_and_without(text, tmp_path):
    """A few steps suffice to distinguish the two heads by their attention."""
    torch.set_num_threads(1)
    on_before = {}
    for share in (0.0, 0.9):
        run = train(text=text, out=tmp_path / f"m{share}", size="2x2x16", guided=share, **HOW)
        assert run.facts["options"]["guided"] == share
        model = run_model(run.path)
        named = {"heads": ["1-1", "2-2"], "share": share} if share else None
        assert guided_heads(model.config) == named
        ids = torch.randint(5, 300, (4, 40), generator=torch.Generator().manual_seed(1))
        with torch.no_grad():
            weights = model(input_ids=ids, output_attentions=True).attentions
        on_before[share] = weights[0][:, 0].diagonal(offset=-1, dim1=1, dim2=2).mean().item()
        card = (run.path / "README.md").read_text()
        assert ("In the first 90% of the steps two heads were shown where to look" in card) == (share > 0)
    assert on_before[0.9] > 2 * on_before[0.0]


def run_model(folder):
    import transformers as tf

    return tf.LlamaForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()


def test_one_layer_has_nothing_to_be_shown(text, tmp_path):
    with pytest.raises(OptionError) as refused:
        train(text=text, out=tmp_path / "m", size="1x2x16", guided=0.2, **HOW)
    assert str(refused.value) == (
        "--guided shows a head of the second layer where to look, and new Llama 1x2x16 has 1 layer; "
        "expected two layers or more"
    )


def test_it_goes_with_decoders():
    with pytest.raises(OptionError, match=r"^--guided goes with --objective clm$"):
        TrainOptions(text=("my.txt",), guided=0.1)
    with pytest.raises(OptionError, match=r"^--guided is 1\.0; expected a share from 0 up to, but not, 1$"):
        TrainOptions(text=("my.txt",), objective="clm", model="m", guided=1.0)
