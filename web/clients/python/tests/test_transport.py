"""Against real connections."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from referral_tracker import RefusedError, Tracker, UnavailableError
from referral_tracker.client import Patience
from referral_tracker.transport import HttpTransport, NotSent

ONE = Patience(attempts=1)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    connections = 0
    mode = "answer"

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.hold = threading.Event()
        self.has_closed = threading.Semaphore(0)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.has_closed.release()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.server.mode == "silence":
            self.server.hold.wait(10)
        if self.server.mode in ("silence", "drop"):
            self.close_connection = True
            return
        self.send_response(301 if self.server.mode == "redirect" else 200)
        self.send_header("location", "https://elsewhere.example/")
        self.send_header("X-Request-ID", "r-1")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = self.server.mode == "close"

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield server
        server.hold.set()
        server.shutdown()


def post(transport: HttpTransport, server: Server) -> bytes:
    answer = transport(f"{server.url}/x", {"content-type": "application/json"}, b"{}", 5)
    assert answer.status == 200
    assert answer.headers["x-request-id"] == "r-1"
    return answer.body


def test_a_connection_is_used_again(server: Server) -> None:
    transport = HttpTransport()
    assert [post(transport, server) for _ in range(3)] == [b"{}"] * 3
    assert server.connections == 1


def test_one_that_the_server_closed_is_not(server: Server) -> None:
    server.mode = "close"
    transport = HttpTransport()
    for _ in range(3):
        assert post(transport, server) == b"{}"
        assert server.has_closed.acquire(timeout=10)
    assert server.connections == 3


def test_threads_do_not_share_one(server: Server) -> None:
    transport = HttpTransport()
    threads = [threading.Thread(target=post, args=(transport, server)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert post(transport, server) == b"{}"


@pytest.mark.parametrize("mode", ["silence", "drop"])
def test_what_is_not_answered_is_in_doubt(server: Server, mode: str) -> None:
    server.mode = mode
    tracker = Tracker(server.url, patience=ONE, timeout_seconds=0.2)
    with pytest.raises(UnavailableError) as failed:
        tracker.sale(transaction_id="1", amount_cents=1)
    assert failed.value.is_unknown


def test_a_redirect_is_not_followed(server: Server) -> None:
    server.mode = "redirect"
    with pytest.raises(RefusedError) as refused:
        Tracker(server.url, patience=ONE).sale(transaction_id="1", amount_cents=1)
    assert refused.value.status == 301


def test_without_a_connection_nothing_is_in_doubt(server: Server) -> None:
    url = server.url
    server.shutdown()
    server.server_close()
    with pytest.raises(NotSent):
        HttpTransport()(f"{url}/x", {}, b"{}", 1)
    with pytest.raises(UnavailableError) as failed:
        Tracker(url, patience=ONE).sale(transaction_id="1", amount_cents=1)
    assert not failed.value.is_unknown
