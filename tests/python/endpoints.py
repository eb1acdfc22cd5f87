"""HTTP endpoints that are not as a judge should be."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def endpoint(
    status: int, message: str = "", *, answer: str = "", delay: float = 0
) -> Iterator[tuple[str, list[int]]]:
    """An endpoint that always says the same, and its count of requests.

    ``message`` is the error of a status that is not 200, ``answer`` the content of
    the chat completion of one that is; it comes after ``delay`` seconds.
    """
    seen: list[int] = []
    stopped = threading.Event()
    error = {"error": {"message": message, "code": status}}
    choice = {"index": 0, "finish_reason": "stop"}
    choice |= {"message": {"role": "assistant", "content": answer}}  # type: ignore[dict-item]
    body = json.dumps({"choices": [choice]} if status == 200 else error).encode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(status)
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if stopped.wait(delay):
                return
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST

        def log_message(self, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", seen
    finally:
        stopped.set()
        server.shutdown()
        thread.join()
        server.server_close()
