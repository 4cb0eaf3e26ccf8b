"""Connections whose every step ends at a given time. A socket's own timeout would begin anew with each piece that arrives."""

from __future__ import annotations

import concurrent.futures
import io
import socket
import ssl
import threading
import time
from typing import Any


class Connection:
    """As much of a socket as `http.client` uses. `end`: on the monotonic clock."""

    def __init__(self, its: socket.socket, end: float) -> None:
        self._its = its
        self.end = end

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            self.limit()
            rest = rest[self._its.send(rest) :]

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self, self._its.makefile("rb", buffering=0)))

    def limit(self) -> None:
        """For what the socket does next."""
        self._its.settimeout(_left(self.end))

    def fileno(self) -> int:
        return self._its.fileno()

    def close(self) -> None:
        self._its.close()


class _Reader(io.RawIOBase):
    def __init__(self, connection: Connection, file: socket.SocketIO) -> None:
        self._connection = connection
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._connection.limit()
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


def connect(host: str, port: int, tls: ssl.SSLContext | None, end: float) -> Connection:
    its = _connect(_addresses(host, port, end), end)
    if tls is not None:
        # The whole handshake is within the socket's timeout.
        its.settimeout(_left(end))
        its = tls.wrap_socket(its, server_hostname=host)
    return Connection(its, end)


def _connect(addresses: list[tuple[Any, ...]], end: float) -> socket.socket:
    error = OSError("the host has no address")
    for index, (family, kind, protocol, _, address) in enumerate(addresses):
        its = socket.socket(family, kind, protocol)
        try:
            # Each has its part of the time: one that leads nowhere must not use up that of the others.
            its.settimeout(_left(end) / (len(addresses) - index))
            its.connect(address)
            its.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return its
        except OSError as failure:
            its.close()
            error = failure
    raise error


def _addresses(host: str, port: int, end: float) -> list[tuple[Any, ...]]:
    """Asked in a thread, since the system's resolver takes its own time, and no limit."""
    answer: concurrent.futures.Future[list[tuple[Any, ...]]] = concurrent.futures.Future()

    def ask() -> None:
        try:
            answer.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as error:
            answer.set_exception(error)

    try:
        threading.Thread(target=ask, name="referral-tracker-resolver", daemon=True).start()
    except RuntimeError:
        # The interpreter ends, and starts no threads any more.
        ask()
    try:
        return answer.result(_left(end))
    except concurrent.futures.TimeoutError:
        raise TimeoutError("the host's address was not found in time") from None


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left
