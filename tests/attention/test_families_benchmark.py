"""`benchmarks/families.py`, small: a few of every outcome, and that it would see a wrong number."""

from dataclasses import asdict

import pytest

from support.benchmarks import benchmark

RIGHT = {
    "bert": "fused",
    "t5": "fused",
    "gpt_neo": "fallback",
    "convbert": "fallback",
    "mobilebert": "fused",
    "longt5": "fused",
    "jamba": "fused",
    "deepseek_v32": "fallback",
    "gpt_oss": "fused",
    "mimo_v2_flash": "fused",
    "inkling2_text": "fused",
    "granite_swa": "fused",  # its scores are so large here that float32 rounds by more than 1e-6
    "hy_v4": "fallback",
    "deepseek_v4": "fused",
    "xlnet": "fallback",
}
SAID = ("longt5", "jamba", "deepseek_v4")
REFUSED = {
    "squeezebert": "SqueezeBertModel gives scores in place of attention weights: some are negative",
    "fnet": "FNetModel gives no attention weights",
    "clip": "CLIPModel cannot be run on token ids alone",
    "canine": "CanineModel cannot be run on an input of two tokens",
}


@pytest.fixture(scope="module")
def bench():
    return benchmark("families")


@pytest.mark.parametrize("family", RIGHT)
def test_families_that_are_read(bench, family):
    outcome = bench.read(family)
    assert (outcome.verdict, outcome.path) == ("right", RIGHT[family]), outcome
    assert max(outcome.alone, outcome.padded) < bench.TOLERANCE
    assert bool(outcome.words) == (family in SAID)


@pytest.mark.parametrize("family", REFUSED)
def test_families_that_are_refused(bench, family):
    outcome = bench.read(family)
    assert outcome.verdict == "refused"
    assert outcome.words.startswith(REFUSED[family])


@pytest.mark.parametrize("what", ["weights", "visible keys", "a kind lost", "a traceback"])
def test_what_is_wrong_is_seen(bench, what, monkeypatch):
    own = bench.maps_of

    def wrong(*given):
        maps, seen = own(*given)
        if what == "a traceback":
            raise KeyError("no such thing")
        last = list(maps)[-1]
        if what == "weights":
            maps[last] = maps[last] + 2 * bench.TOLERANCE
        if what == "visible keys":
            seen[last] = seen[last] + 1
        return maps, seen

    monkeypatch.setattr(bench, "maps_of", wrong)
    if what == "a kind lost":
        monkeypatch.setattr("headscope.attention.model.trial_batch.TrialBatch.notes", lambda self: ())
    outcome = bench.read("longt5" if what == "a kind lost" else "bert")
    assert outcome.verdict == ("traceback" if what == "a traceback" else "wrong")
    if what == "a kind lost":
        assert outcome.words == "loses its encoder attention without a word"
    if what == "a traceback":
        assert outcome.words.startswith("KeyError: 'no such thing' (")


def test_the_page_says_how_many(bench):
    page = benchmark("families_page").page

    found = [asdict(bench.read(family)) for family in ("bert", "fnet")]
    text = page(found, tolerance=bench.TOLERANCE)
    assert "| right | 1 | 0 |" in text
    assert "| silently wrong | 0 | 0 |" in text
    assert "| bert | fused | encoder 3 x 4 |" in text
    assert "| fnet | FNetModel gives no attention weights: " in text


@pytest.mark.slow
def test_every_architecture_that_takes_token_ids_is_listed(bench):
    families = bench.text_families()
    assert len(families) > 200
    assert {"bert", "gpt2", "t5", "llama", "clip"} <= set(families)
    assert "vit" not in families
