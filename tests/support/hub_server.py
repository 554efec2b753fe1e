"""A small loopback server that answers like the hub, and can be set to fail as networks do."""

import hashlib
import http.server
import json
import re
import socket
import threading
import urllib.parse
from collections.abc import Mapping
from pathlib import Path

COMMIT = "a" * 40


class HubServer(http.server.ThreadingHTTPServer):
    """Serve one model, `tiny/bert`, and datasets, each at revision `main` and its commit.

    A dataset's files are served as the hub serves large ones: `resolve` redirects to another host (`localhost` for
    `127.0.0.1`) and sends their size and SHA-256 itself; the other host supports ranges.

    Args:
        folder: folder of the model's files.
        datasets: folder of each repository.

    Attributes:
        seen: the requested paths.
        ranges: the `Range` header of each request for a file that was sent, None without one.
        revisions: commit of each revision name of the datasets.
        renamed: new name of each renamed repository.
        refused: (status, `X-Error-Code`) of each refused repository.
        cuts: for the next answers, the number of bytes after which the connection is cut.
        lists: whether the tree of a dataset can be listed.
        no_ranges: refuse every range with 416.
        whole: send the whole file whatever range is requested.
        swapped: content sent in place of every file, which contradicts the announced hash.
    """

    def __init__(self, folder: Path | None = None, *, datasets: Mapping[str, Path] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.datasets = dict(datasets or {})
        self.seen: list[str] = []
        self.ranges: list[str | None] = []
        self.revisions = {"main": COMMIT, COMMIT: COMMIT}
        self.renamed: dict[str, str] = {}
        self.refused: dict[str, tuple[int, str | None]] = {}
        self.cuts: list[int] = []
        self.lists = True
        self.no_ranges = self.whole = False
        self.swapped: bytes | None = None
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: HubServer

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        path = self.path.split("?")[0]
        self.server.seen.append(path)
        if path.startswith("/cdn/"):
            return self.stored_file(path.removeprefix("/cdn/"), body=body)
        if dataset := re.fullmatch(r"/(api/)?datasets/([^/]+/[^/]+)/(resolve|tree)/([^/]+)/(.+)", path):
            _, repository, verb, revision, file = dataset.groups()
            return self.dataset(repository, verb, urllib.parse.unquote(revision), urllib.parse.unquote(file), body=body)
        self.model(path, body=body)

    def dataset(self, repository: str, verb: str, revision: str, file: str, *, body: bool) -> None:
        if new := self.server.renamed.get(repository):
            return self.send(b"", status=307, headers={"Location": self.path.replace(repository, new)})
        if refused := self.server.refused.get(repository):
            return self.refuse(refused[1], status=refused[0])
        if repository not in self.server.datasets:
            return self.refuse("RepoNotFound", status=401)  # the hub does not tell strangers what is private
        if revision not in self.server.revisions:
            return self.refuse("RevisionNotFound")
        commit = self.server.revisions[revision]
        path = self.server.datasets[repository] / file
        if verb == "tree" and path.is_dir() and self.server.lists:
            return self.send(json.dumps(listing(path, file)).encode(), body=body, commit=commit)
        if not path.is_file():
            return self.refuse("EntryNotFound", commit=commit)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        headers = {
            "Location": f"http://localhost:{self.server.server_address[1]}/cdn/{digest}",
            "X-Linked-ETag": f'"{digest}"',
            "X-Linked-Size": str(path.stat().st_size),
        }
        self.send(b"Found. Redirecting", status=302, headers=headers, body=body, commit=commit)

    def stored_file(self, digest: str, *, body: bool) -> None:
        files = [path for folder in self.server.datasets.values() for path in folder.rglob("*") if path.is_file()]
        content = next(data for data in (f.read_bytes() for f in files) if hashlib.sha256(data).hexdigest() == digest)
        content = content if self.server.swapped is None else self.server.swapped
        asked = self.headers.get("Range")
        self.server.ranges.append(asked)
        if asked is None or self.server.whole:
            return self.send(content, body=body)
        start = int(asked.removeprefix("bytes=").removesuffix("-"))
        if self.server.no_ranges or start >= len(content):
            return self.send(b"", status=416, headers={"Content-Range": f"bytes */{len(content)}"}, body=body)
        span = f"bytes {start}-{len(content) - 1}/{len(content)}"
        self.send(content[start:], status=206, headers={"Content-Range": span}, body=body)

    def model(self, path: str, *, body: bool) -> None:
        files = {} if self.server.folder is None else {file.name: file for file in self.server.folder.iterdir()}
        if path.startswith("/api/models/tiny/bert"):
            revision = path.partition("/revision/")[2] or "main"
            if revision not in ("main", COMMIT):
                return self.refuse("RevisionNotFound")
            if "/tree/" in path or path.endswith("/tree"):
                listing = [{"type": "file", "path": n, "size": f.stat().st_size, "oid": n} for n, f in files.items()]
                return self.send(json.dumps(listing).encode(), body=body)
            about = {"id": "tiny/bert", "sha": COMMIT, "siblings": [{"rfilename": name} for name in files]}
            return self.send(json.dumps(about).encode(), body=body)
        parts = path.split("/")
        if parts[1:4] == ["tiny", "bert", "resolve"]:
            if parts[4] not in ("main", COMMIT):
                return self.refuse("RevisionNotFound")
            file = files.get("/".join(parts[5:]))
            if file is None:
                return self.refuse("EntryNotFound")
            return self.send(file.read_bytes(), body=body)
        return self.refuse("RepoNotFound")

    def refuse(self, code: str | None, *, status: int = 404, commit: str = "") -> None:
        headers = {} if code is None else {"X-Error-Code": code, "X-Error-Message": code}
        self.send(b"", status=status, headers=headers, commit=commit)

    def send(
        self,
        content: bytes,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        body: bool = True,
        commit: str = COMMIT,
    ) -> None:
        self.send_response(status)
        self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
        if commit:
            self.send_header("X-Repo-Commit", commit)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if not body:
            return
        if self.path.startswith("/cdn/") and content and self.server.cuts:
            self.wfile.write(content[: self.server.cuts.pop(0)])
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self.wfile.write(content)


def listing(folder: Path, inside: str) -> list[dict[str, object]]:
    """Return the entries of a folder as the hub's tree lists them."""
    kinds = [(path, "directory" if path.is_dir() else "file") for path in sorted(folder.iterdir())]
    return [
        {"type": kind, "path": f"{inside}/{path.name}", "size": path.stat().st_size, "oid": path.name}
        for path, kind in kinds
    ]
