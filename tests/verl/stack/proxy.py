"""Stands between a trainer and its judge, and misbehaves when told to."""

from __future__ import annotations

import http.client
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import urlsplit


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Whoever called has been killed."""


class Proxy:
    """``with Proxy(url) as proxy``: set ``down`` for HTTP 503, ``hold`` calls and ``let_go``."""

    def __init__(self, url: str) -> None:
        self.down = False
        self._held = 0
        self._gate = threading.Event()
        self._gate.set()
        self._lock = threading.Lock()  # protects the count
        proxy, target = self, urlsplit(url)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self._forward(self.rfile.read(int(self.headers["Content-Length"])))

            def do_GET(self) -> None:
                self._forward(None)

            def _forward(self, body: bytes | None) -> None:
                proxy._pass()
                if proxy.down:
                    self._answer(503, b'{"error": {"message": "down"}}')
                    return
                upstream = http.client.HTTPConnection(target.netloc)
                upstream.request(
                    self.command, self.path, body, {"Content-Type": "application/json"}
                )
                answer = upstream.getresponse()
                self._answer(answer.status, answer.read())
                upstream.close()

            def _answer(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def hold(self) -> None:
        """From now on calls wait."""
        self._held = 0
        self._gate.clear()

    def let_go(self) -> None:
        self._gate.set()

    def until_held(self, calls: int, seconds: float = 60.0) -> None:
        """Until so many calls wait."""
        end = time.monotonic() + seconds
        while self._held < calls:
            assert time.monotonic() < end, f"{self._held} of {calls} calls came"
            time.sleep(0.05)

    def _pass(self) -> None:
        if not self._gate.is_set():
            with self._lock:
                self._held += 1
            self._gate.wait()

    def __enter__(self) -> Proxy:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.let_go()
        self._server.shutdown()
        self._server.server_close()
