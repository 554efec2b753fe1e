"""An explorer on loopback, and a client that sends exactly the bytes of a test."""

import http.client
import json
import socket
import threading
import time
from contextlib import contextmanager

import numpy as np

from headscope.app.cli.explore import config_of, listen
from headscope.app.explorer.model_shelf import Shelf, named_models
from headscope.app.explorer.web_app import Explorer

TOKEN = "a-token-only-for-tests"


@contextmanager
def running(models, *, limits=None, load=None, study=None, wait=True, example="The cat sat on the mat."):
    """Serve an explorer of these models in a thread; yield a client of it."""
    import uvicorn

    named = models if models and not isinstance(models[0], str) else named_models(models)
    bound = listen(0)
    port = bound.getsockname()[1]
    explorer = Explorer(
        Shelf(named, loading={"device": "cpu"}, load=load), token=TOKEN, limits=limits, study=study, example=example
    )
    server = uvicorn.Server(config_of(explorer))
    thread = threading.Thread(target=lambda: server.run(sockets=[bound]), daemon=True)
    explorer.start()
    thread.start()
    client = Client(port, explorer)
    client.server, client.thread = server, thread
    try:
        until(lambda: server.started)
        if wait:
            until(
                lambda: all(one["state"] in ("ready", "failed") for one in explorer.shelf.descriptions()), seconds=120
            )
        yield client
    finally:
        server.should_exit = True
        thread.join(10)
        bound.close()


class Client:
    """Send requests with the token and the right host unless a test gives others."""

    def __init__(self, port, explorer=None, token=TOKEN):
        self.port = port
        self.explorer = explorer
        self.token = token

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def ask(self, method, path, body=None, *, headers=None, token=True):
        """Return status, headers (lower case) and body."""
        given = {"Host": f"127.0.0.1:{self.port}", **({"X-Headscope-Token": self.token} if token else {})}
        given.update(headers or {})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            if body is not None and "Transfer-Encoding" not in given:
                given.setdefault("Content-Length", str(len(body)))
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def get(self, path, **options):
        return self.ask("GET", path, **options)

    def post(self, value, path="/api/look", **options):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return self.ask("POST", path, body, **options)

    def look(self, text, model=None, **more):
        """Look at a text; return the payload."""
        model = model or next(iter(self.explorer.shelf.named))
        status, _, body = self.post({"model": model, "text": text, **more})
        assert status == 200, body
        return json.loads(body)

    def refused(self, status, answer):
        """Check an answer's status and return its sentence."""
        assert answer[0] == status, answer
        assert answer[1]["content-type"] == "application/json"
        told = json.loads(answer[2])
        assert list(told) == ["error"]
        return told["error"]

    def raw(self, content, *, seconds=20):
        """Send bytes as they are; return all that comes back."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as wire:
            wire.sendall(content)
            got = b""
            while part := wire.recv(65536):
                got += part
            return got


def until(true, *, seconds=20.0):
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def eager_weights(folder, text, text_b=None):
    """Return the weights of transformers' own eager attention for a text, `[layer, head, query, key]`."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").float().eval()
    texts = (text,) if text_b is None else (text, text_b)
    with torch.no_grad():
        out = model(**tokenizer(*texts, return_tensors="pt"), output_attentions=True)
    return np.stack([layer[0].numpy() for layer in out.attentions])
