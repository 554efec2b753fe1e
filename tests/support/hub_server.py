"""A small server on loopback that answers as the model hub does."""

import hashlib
import http.server
import json
import threading
from pathlib import Path

COMMIT = "a" * 40


class HubServer(http.server.ThreadingHTTPServer):
    """Serve one repository, `tiny/bert`, at revision `main` (and its commit).

    Attributes:
        seen: the paths asked for.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.seen: list[str] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

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
        files = {file.name: file for file in self.server.folder.iterdir()}
        if path.startswith("/api/models/tiny/bert"):
            revision = path.partition("/revision/")[2] or "main"
            if revision not in ("main", COMMIT):
                return self.refuse("RevisionNotFound")
            if "/tree/" in path or path.endswith("/tree"):
                listing = [
                    {"type": "file", "path": n, "size": f.stat().st_size, "oid": n} for n, f in files.items()
                ]
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

    def refuse(self, code: str) -> None:
        self.send_response(404)
        self.send_header("X-Error-Code", code)
        self.send_header("X-Error-Message", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def send(self, content: bytes, *, body: bool) -> None:
        self.send_response(200)
        self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)
