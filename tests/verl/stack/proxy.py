"""Stands between a trainer and its judge, and misbehaves when told to."""

from __future__ import annotations

import http.client
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import urlsplit


class Proxy:
    """``with Proxy(url) as proxy``: set ``down`` for HTTP 503, ``delay`` for seconds a call."""

    def __init__(self, url: str) -> None:
        self.down = False
        self.delay = 0.0
        proxy, target = self, urlsplit(url)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self._forward(self.rfile.read(int(self.headers["Content-Length"])))

            def do_GET(self) -> None:
                self._forward(None)

            def _forward(self, body: bytes | None) -> None:
                time.sleep(proxy.delay)
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

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Proxy:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
