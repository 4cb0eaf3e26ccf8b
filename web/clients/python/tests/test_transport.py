"""Against real connections."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from referral_tracker import connections
from referral_tracker import RefusedError, Tracker, UnavailableError
from referral_tracker.client import Patience
from referral_tracker.transport import HttpTransport, Lost, NotSent

ONE = Patience(attempts=1)
# What a server writes a byte at a time.
SLOW = {
    "slow status": b"HTTP/1.1 200 " + b"O" * 2000,
    "slow headers": b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 50 + b"content-length: 0\r\n\r\n",
    "slow body": b"HTTP/1.1 200 OK\r\ncontent-length: 2000\r\n\r\n" + b"x" * 2000,
    "slow pieces": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 400 + b"0\r\n\r\n",
    "slow preface": b"HTTP/1.1 100 Continue\r\n\r\n" * 80,
}


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
        if self.server.mode in SLOW:
            self.drip(SLOW[self.server.mode])
        if self.server.mode == "long":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nx-request-id: r-1\r\n\r\n" + b"x" * 3_000_000)
        if self.server.mode == "cut off":
            self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n" + b'{"success": true')
        if self.server.mode in ("silence", "drop", "long", "cut off", *SLOW):
            self.close_connection = True
            return
        self.send_response(301 if self.server.mode == "redirect" else 200)
        self.send_header("location", "https://elsewhere.example/")
        self.send_header("X-Request-ID", "r-1")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = self.server.mode == "close"

    def drip(self, answer: bytes) -> None:
        # Each byte well within the timeout of what reads it; all of them, far from it.
        for byte in answer:
            if self.server.hold.wait(0.02):
                return
            try:
                self.wfile.write(bytes([byte]))
            except OSError:
                return

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


@pytest.mark.parametrize("mode", ["silence", "drop", "cut off", *SLOW])
def test_what_is_not_answered_is_in_doubt(server: Server, mode: str) -> None:
    server.mode = mode
    tracker = Tracker(server.url, patience=ONE, timeout_seconds=0.5)
    with pytest.raises(UnavailableError) as failed:
        tracker.sale(transaction_id="1", amount_cents=1, customer_key="a")
    assert failed.value.is_unknown


@pytest.mark.parametrize("mode", SLOW)
def test_a_slow_answer_over_tls_is_in_doubt(server: Server, mode: str) -> None:
    server.mode = mode
    server.socket = anonymous(ssl.PROTOCOL_TLS_SERVER).wrap_socket(server.socket, server_side=True)
    transport = HttpTransport()
    transport._tls = anonymous(ssl.PROTOCOL_TLS_CLIENT)
    with pytest.raises(Lost):
        transport(server.url.replace("http:", "https:"), {}, b"{}", 1)


def anonymous(protocol: int) -> ssl.SSLContext:
    """TLS without certificates."""
    tls = ssl.SSLContext(protocol)
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE
    tls.maximum_version = ssl.TLSVersion.TLSv1_2
    tls.set_ciphers("aNULL:@SECLEVEL=0")
    return tls


def test_a_server_that_never_shakes_hands_is_not_reached() -> None:
    # The system connects, and nobody accepts.
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(NotSent):
        HttpTransport()(f"https://127.0.0.1:{silent.getsockname()[1]}/x", {}, b"{}", 0.2)


def test_of_a_long_answer_a_part_is_read(server: Server) -> None:
    server.mode = "long"
    assert len(post(HttpTransport(), server)) == 1 << 20


def test_an_address_that_is_not_found_in_time_is_not_reached(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    find = socket.getaddrinfo

    def find_late(*arguments: Any, **options: Any) -> Any:
        server.hold.wait(10)
        return find(*arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", find_late)
    with pytest.raises(NotSent, match="address"):
        HttpTransport()(f"{server.url}/x", {}, b"{}", 0.2)


def test_all_addresses_of_a_host_have_their_part_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    tried: list[tuple[object, float]] = []

    class Nowhere:
        def __init__(self, *kind: object) -> None:
            self._timeout = 0.0

        def settimeout(self, seconds: float) -> None:
            self._timeout = seconds

        def connect(self, address: object) -> None:
            nonlocal now
            tried.append((address, self._timeout))
            now += self._timeout
            raise TimeoutError

        def close(self) -> None:
            pass

    addresses = [(0, 0, 0, "", place) for place in "abcd"]
    network = SimpleNamespace(socket=Nowhere, SOCK_STREAM=1, getaddrinfo=lambda *arguments, **options: addresses)
    monkeypatch.setattr(connections, "socket", network)
    monkeypatch.setattr(connections, "time", SimpleNamespace(monotonic=lambda: now))
    with pytest.raises(TimeoutError):
        connections.connect("track.example", 443, None, 108.0)
    assert tried == [("a", 2.0), ("b", 2.0), ("c", 2.0), ("d", 2.0)]


def test_a_redirect_is_not_followed(server: Server) -> None:
    server.mode = "redirect"
    with pytest.raises(RefusedError) as refused:
        Tracker(server.url, patience=ONE).sale(transaction_id="1", amount_cents=1, customer_key="a")
    assert refused.value.status == 301


def test_without_a_connection_nothing_is_in_doubt(server: Server) -> None:
    url = server.url
    server.shutdown()
    server.server_close()
    with pytest.raises(NotSent):
        HttpTransport()(f"{url}/x", {}, b"{}", 1)
    with pytest.raises(UnavailableError) as failed:
        Tracker(url, patience=ONE).sale(transaction_id="1", amount_cents=1, customer_key="a")
    assert not failed.value.is_unknown
