"""An explorer without a model, for tests of the server around it."""

from types import SimpleNamespace

from headscope.app.explorer import web_app as app
from headscope.app.explorer.model_shelf import NamedModel
from headscope.app.explorer.served_snapshot import Look, Neuron

STUB = [NamedModel(name="stub", source="stub")]
LAYER = bytes(range(8))


def stub_reader(*_, **__):
    """Return a stand-in for a loaded model: its anatomy."""
    return SimpleNamespace(anatomy=SimpleNamespace(encoder_decoder=False, layout=[SimpleNamespace(kind="encoder")]))


def without_a_model(monkeypatch, *, look=None, neuron=None):
    """Replace looks by made-up ones, each with layer 1 of an encoder."""
    monkeypatch.setattr(app, "take_look", look or _look)
    monkeypatch.setattr(app, "take_neuron", neuron or _neuron)


def _look(shelf, asked, *, limits):
    told = b'{"id": "%s"}' % asked.id.encode()
    return Look(request=asked, payload_json=told, layers={"encoder": {1: LAYER}})


def _neuron(shelf, asked, *, limits):
    return Neuron(layers={"encoder": {1: ("{}", LAYER)}}, refused={})
