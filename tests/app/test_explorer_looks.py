"""What the explorer answers: weights that are the model's own, each to whom asked for them, kept within bounds."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from headscope.app.explorer.model_shelf import NamedModel
from headscope.app.explorer.request import Limits
from headscope.app.explorer.served_snapshot import cache_of
from headscope.views.quantize import write_weights
from headscope.views.snapshot_of import reader_of
from headscope.views.view_payload import neuron_bytes, payload
from support.explorer import eager_weights, running, until
from support.model_folders import save_tiny_bert, save_tiny_gpt2, save_tiny_t5
from support.views import read_layer

SENTENCES = ["The cat sat on the mat.", "A dog came by and looked at the cat.", "The mat was warm."]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    from transformers import GPT2Config, GPT2LMHeadModel, T5Config, T5ForConditionalGeneration

    bert = save_tiny_bert(root / "tiny-bert")
    gpt2 = save_tiny_gpt2(root / "tiny-gpt2", SENTENCES * 8)
    GPT2LMHeadModel(GPT2Config.from_pretrained(gpt2)).save_pretrained(gpt2)
    t5 = save_tiny_t5(root / "tiny-t5", SENTENCES * 8)
    T5ForConditionalGeneration(T5Config.from_pretrained(t5)).save_pretrained(t5)
    return {"bert": bert, "gpt2": gpt2, "t5": t5}


@pytest.fixture(scope="module")
def client(folders):
    with running([str(folder) for folder in folders.values()]) as client:
        yield client


def layer(client, told, number, kind="encoder"):
    status, headers, body = client.get(f"/api/look/{told['id']}/layer?kind={kind}&layer={number}")
    assert status == 200, body
    assert headers["content-type"] == "application/octet-stream"
    return body


def test_layers_are_those_of_the_models_eager_attention(client, folders):
    text, text_b = "The unbelievably warm mat.", "It slept."
    told = client.look(text, "tiny-bert", text_b=text_b)
    eager = eager_weights(folders["bert"], text, text_b)
    n = len(told["kinds"][0]["queries"]["tokens"])
    assert eager.shape == (2, 2, n, n)
    for number in (1, 2):
        body = layer(client, told, number)
        read = read_layer(body, 2, n, n)
        np.testing.assert_allclose(read, eager[number - 1], atol=1 / 255 + 1e-6)
        # To the byte, of weights that differ from eager's by rounding only.
        own = reader_of(folders["bert"]).view(text, text_b).kinds[0].weights[number - 1]
        np.testing.assert_allclose(own, eager[number - 1], atol=1e-6)
        assert body == write_weights(own)
    # Queries attend: rows sum to 1, columns need not.
    np.testing.assert_allclose(read.sum(-1), 1, atol=0.05)


def test_the_payload_is_the_pages_without_maps(client, folders):
    told = client.look("The cat sat on the mat.", "tiny-bert")
    own = payload(reader_of(folders["bert"]).view("The cat sat on the mat."), maps=False, neuron=False)
    extra = {"id": told["id"], "call": f"text='The cat sat on the mat.', model={str(folders['bert'])!r}"}
    assert told == {**own, **extra}
    assert "maps" not in told["kinds"][0]


def test_the_same_text_is_the_same_look_and_runs_once(client):
    one, other = client.look("Once more.", "tiny-bert"), client.look("Once more.", "tiny-bert")
    assert one == other
    assert client.look("Once more!", "tiny-bert")["id"] != one["id"]


@pytest.mark.slow
def test_fifty_at_once_each_get_their_own(client, folders):
    texts = [f"cat {'mat ' * (number % 9)}{number}" for number in range(50)]
    with ThreadPoolExecutor(50) as pool:
        tolds = list(pool.map(lambda text: client.look(text, "tiny-bert"), texts))
        bodies = list(pool.map(lambda told: layer(client, told, 2), tolds))
    reader = reader_of(folders["bert"])
    assert len({told["id"] for told in tolds}) == 50
    for text, told, body in zip(texts, tolds, bodies):
        own = reader.view(text)
        assert told["kinds"][0]["queries"]["tokens"] == list(own.kinds[0].queries.tokens), text
        assert body == write_weights(own.kinds[0].weights[1]), text


def test_queries_and_keys_when_they_are_asked_for(client, folders):
    told = client.look("The cat sat.", "tiny-bert")
    own = reader_of(folders["bert"]).view("The cat sat.", neuron=True).kinds[0].neuron
    for number in (1, 2):
        status, headers, body = client.get(f"/api/look/{told['id']}/neuron?kind=encoder&layer={number}")
        assert status == 200
        assert body == neuron_bytes(own[number - 1])
        assert json.loads(headers["x-headscope-neuron"]) == {
            "parts": {"bias": None, "mask": False},
            "groups": [0, 1],
            "scaling": pytest.approx(8**-0.5),
            "softcap": None,
            "width": 8,
        }


def test_a_model_without_queries_and_keys_says_why(tmp_path):
    from support.tiny_models import tiny_model

    bert = save_tiny_bert(tmp_path / "mpnet")
    from transformers import AutoTokenizer

    loaded_tokenizer = AutoTokenizer.from_pretrained(bert)
    from headscope.models.load_model import LoadedModel
    from headscope.views.capture import AttentionReader

    model = tiny_model("mpnet")
    model.resize_token_embeddings(30522)
    reader = AttentionReader(LoadedModel(model=model, tokenizer=loaded_tokenizer, name="mpnet"))
    with running([NamedModel(name="mpnet", source="mpnet")], load=lambda *_, **__: reader) as client:
        told = client.look("The cat.")
        status, headers, body = client.get(f"/api/look/{told['id']}/neuron?kind=encoder&layer=1")
        assert (status, headers["content-type"]) == (200, "application/json")
        assert json.loads(body)["no_neuron"].startswith("MPNetModel does not hand over its queries and keys")


def test_queries_that_half_precision_cannot_hold_are_not_shown(folders):
    class Large(Slow):
        def view(self, *texts, **options):
            view = self.reader.view(*texts, **options)
            if options["neuron"]:
                view.kinds[0].neuron[1].queries[...] = 70000.0
            return view

    reader = Large(reader_of(folders["bert"]))
    with running([NamedModel(name="one", source="x")], load=lambda *_, **__: reader) as client:
        told = client.look("A cat.")
        _, _, body = client.get(f"/api/look/{told['id']}/neuron?kind=encoder&layer=1")
        assert json.loads(body) == {
            "no_neuron": "Not shown: queries, keys or biases reach 7e+04, and the neuron view holds at most 65,504 "
            "(half precision); look at another view of this model."
        }


def test_generated_text(client):
    told = client.look("The cat", "tiny-gpt2", generate=4)
    axis = told["kinds"][0]["queries"]
    assert len(axis["tokens"]) == axis["generated"] + 4
    n = len(axis["tokens"])
    read = read_layer(layer(client, told, 1, "decoder"), 2, n, n)
    assert np.triu(read, 1).max() == 0
    assert client.look("The cat", "tiny-gpt2")["kinds"][0]["queries"]["generated"] is None


def test_an_encoder_decoder(client):
    models = {one["name"]: one for one in client.explorer.shelf.descriptions()}
    assert [(one["decoder"], one["writes"]) for one in models.values()] == [(False, False), (False, True), (True, True)]
    told = client.look("The cat sat.", "tiny-t5", decoder_text="A dog")
    kinds = {kind["kind"]: kind for kind in told["kinds"]}
    assert list(kinds) == ["encoder", "decoder", "cross"]
    queries, keys = len(kinds["cross"]["queries"]["tokens"]), len(kinds["cross"]["keys"]["tokens"])
    read = read_layer(layer(client, told, 2, "cross"), 2, queries, keys)
    np.testing.assert_allclose(read.sum(-1), 1, atol=0.05)
    status, headers, _ = client.get(f"/api/look/{told['id']}/neuron?kind=encoder&layer=1")
    assert status == 200
    n = len(kinds["encoder"]["queries"]["tokens"])
    assert json.loads(headers["x-headscope-neuron"])["parts"]["bias"] == [2, n, n]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("", "unknown kind of attention; choose one of encoder"),
        ("kind=cross&layer=1", "unknown kind of attention; choose one of encoder"),
        ("kind=encoder", "unknown layer; expected a number from 1 to 2"),
        ("kind=encoder&layer=0", "unknown layer; expected a number from 1 to 2"),
        ("kind=encoder&layer=3", "unknown layer; expected a number from 1 to 2"),
        ("kind=encoder&layer=-1", "unknown layer; expected a number from 1 to 2"),
        ("kind=encoder&layer=%D9%A1", "unknown layer; expected a number from 1 to 2"),
    ],
)
@pytest.mark.parametrize("what", ["layer", "neuron"])
def test_kinds_and_layers_that_are_not_there(client, what, query, sentence):
    told = client.look("The cat sat.", "tiny-bert")
    assert client.refused(404, client.get(f"/api/look/{told['id']}/{what}?{query}")) == sentence


@pytest.mark.parametrize("what", ["layer", "neuron"])
def test_looks_that_are_not_there(client, what):
    gone = client.get(f"/api/look/{'0' * 32}/{what}?kind=encoder&layer=1")
    assert client.refused(410, gone) == ("this sentence's attention is not kept any more; look at the sentence again")
    for name in ("x", "0" * 31, "A" * 32):
        assert client.get(f"/api/look/{name}/{what}?kind=encoder&layer=1")[0] == 410


def test_old_looks_go_and_come_again(folders):
    with running([str(folders["bert"])], limits=Limits(kept=9000)) as client:
        first = client.look("The cat sat on the mat.")
        before = layer(client, first, 1)
        for number in range(6):
            client.look(f"A dog came by and looked at it, {number}.")
        assert client.explorer.looks.currsize <= 9000
        answer = client.get(f"/api/look/{first['id']}/layer?kind=encoder&layer=1")
        client.refused(410, answer)
        again = client.look("The cat sat on the mat.")
        assert again["id"] == first["id"]
        assert layer(client, again, 1) == before


class Sized:
    def __init__(self, size):
        self.size = size


def test_what_is_kept_is_what_was_asked_for_last():
    kept = cache_of(100)
    for name in "abc":
        kept[name] = Sized(40)
    assert (len(kept), kept.currsize) == (2, 80)
    assert kept.get("a") is None
    kept.get("b")
    kept["d"] = Sized(60)
    assert kept.get("c") is None
    assert kept.get("b") is not None
    # The newest is kept whatever its size.
    kept["e"] = Sized(1000)
    assert list(kept) == ["e"]


class Slow:
    """A reader that waits until it may go on."""

    def __init__(self, reader):
        self.reader = reader
        self.begun, self.go = threading.Event(), threading.Event()
        self.runs = 0

    def __getattr__(self, name):
        return getattr(self.reader, name)

    def view(self, *texts, **options):
        self.begun.set()
        self.go.wait(20)
        self.runs += 1
        return self.reader.view(*texts, **options)


def test_while_a_model_reads_everything_else_is_answered(folders):
    slow = Slow(reader_of(folders["bert"]))
    with running([NamedModel(name="slow", source="slow")], load=lambda *_, **__: slow) as client:
        with ThreadPoolExecutor(8) as pool:
            looks = [pool.submit(client.post, {"model": "slow", "text": f"number {n}"}) for n in range(8)]
            assert slow.begun.wait(20)
            started = time.monotonic()
            assert client.get("/api/models")[0] == 200
            assert time.monotonic() - started < 2
            assert slow.runs == 0
            slow.go.set()
            assert all(look.result()[0] == 200 for look in looks)
        assert slow.runs == 8


def test_one_text_asked_for_often_at_once_is_read_once(folders):
    slow = Slow(reader_of(folders["bert"]))
    with running([NamedModel(name="slow", source="slow")], load=lambda *_, **__: slow) as client:
        with ThreadPoolExecutor(5) as pool:
            asked = [pool.submit(client.look, "the same", "slow") for _ in range(5)]
            assert slow.begun.wait(20)
            slow.go.set()
            assert len({each.result()["id"] for each in asked}) == 1
        assert slow.runs == 1


def test_models_that_load_or_fail_say_so(folders, tmp_path):
    go = threading.Event()

    def load(source, **options):
        go.wait(20)
        return reader_of(source, **options)

    named = [
        NamedModel(name="one", source=str(folders["bert"])),
        NamedModel(name="none", source=str(tmp_path)),
        NamedModel(name="lost", source="x", refused="the study's model lost is not there"),
    ]
    with running(named, load=load, wait=False) as client:
        until(lambda: client.explorer.shelf.descriptions()[0]["state"] == "loading")
        assert [one["state"] for one in client.explorer.shelf.descriptions()] == ["loading", "waiting", "waiting"]
        assert client.get(f"/?token={client.token}", token=False)[0] == 200
        for name in ("one", "none"):
            answer = client.post({"model": name, "text": "A cat."})
            assert client.refused(503, answer) == f"{name} is still being loaded; ask again in a moment"
            assert answer[1]["retry-after"] == "1"
        go.set()
        until(lambda: client.explorer.shelf.descriptions()[2]["state"] == "failed")
        assert client.look("A cat.", "one")["title"] == "A cat."
        assert client.refused(409, client.post({"model": "none", "text": "A cat."})) == (
            f"{tmp_path} has no config.json; expected a model folder as save_pretrained writes it"
        )
        told = {one["name"]: one["message"] for one in client.explorer.shelf.descriptions()}
        assert told["lost"] == "the study's model lost is not there"
        assert client.refused(404, client.post({"model": "two", "text": "A cat."})) == (
            "no model has this name; the explorer was started with one, none, lost"
        )


def test_weights_other_than_the_studys_are_said(folders):
    named = [NamedModel(name="one", source=str(folders["bert"]), weights="0" * 32)]
    with running(named) as client:
        (told,) = client.explorer.shelf.descriptions()
        assert told["message"] == "one has other weights here than those that the study measured."


def test_roles_of_the_study_reach_the_views(folders):
    roles = {"encoder": (("previous", "sep"), (None, "broad"))}
    with running([NamedModel(name="one", source=str(folders["bert"]), roles=roles)]) as client:
        assert client.look("A cat.")["kinds"][0]["roles"] == [["previous", "sep"], [None, "broad"]]
    # A study of a model of another shape tells nothing of this one.
    other = {"encoder": (("previous", "sep"),)}
    with running([NamedModel(name="one", source=str(folders["bert"]), roles=other)]) as client:
        assert client.look("A cat.")["kinds"][0]["roles"] is None


def test_an_error_of_its_own_is_told_without_a_trace(folders, caplog):
    class Broken(Slow):
        def view(self, *texts, **options):
            raise ZeroDivisionError("secret detail")

    with running(
        [NamedModel(name="one", source="x")], load=lambda *_, **__: Broken(reader_of(folders["bert"]))
    ) as client:
        answer = client.post({"model": "one", "text": "A cat."})
        assert client.refused(500, answer) == (
            "the explorer met an error of its own (ZeroDivisionError); the terminal it runs in says more"
        )
        # It is written down once the answer is on its way.
        until(lambda: "secret detail" in caplog.text)
        assert client.token not in caplog.text
        assert client.get("/api/models")[0] == 200
