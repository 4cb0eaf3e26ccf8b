"""One HTTP request, with the standard library: connections are kept and used again."""

from __future__ import annotations

import http.client
import selectors
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, cast
from urllib.parse import urlsplit

from . import connections, forks

# More are closed after use.
_IDLE_CONNECTIONS = 16
# No answer of the service is longer; a page of another server may be.
_LONGEST_ANSWER_BYTES = 1 << 20


@dataclass(frozen=True)
class Response:
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


class NotSent(Exception):
    """There was no connection."""


class Lost(Exception):
    """There was no answer to what was sent."""


class Transport(Protocol):
    def __call__(self, url: str, headers: Mapping[str, str], body: bytes, timeout_seconds: float) -> Response:
        """POSTs once, follows no redirect. Raises NotSent or Lost, after `timeout_seconds` at the latest."""


class HttpTransport:
    """Safe to share between threads, and after a fork."""

    def __init__(self) -> None:
        self._tls: ssl.SSLContext | None = None
        self._begin_afresh()
        forks.watch(self)

    def _begin_afresh(self) -> None:
        """Connections of a parent process are its own."""
        self._lock = threading.Lock()
        self._idle: dict[tuple[str, str], deque[http.client.HTTPConnection]] = {}

    def __call__(self, url: str, headers: Mapping[str, str], body: bytes, timeout_seconds: float) -> Response:
        parts = urlsplit(url)
        place = (parts.scheme, parts.netloc)
        end = time.monotonic() + timeout_seconds
        connection = self._idle_connection(place, end) or self._connect(parts.scheme, parts.netloc, end)
        try:
            connection.request("POST", parts.path, body, dict(headers))
            answer = connection.getresponse()
            content = answer.read(_LONGEST_ANSWER_BYTES)
            is_whole = answer.isclosed()
            if answer.length and len(content) < _LONGEST_ANSWER_BYTES:
                raise http.client.IncompleteRead(content, answer.length)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Lost(str(error) or type(error).__name__) from error
        if is_whole:
            self._keep(place, connection)
        else:
            connection.close()
        named = {name.lower(): value for name, value in answer.getheaders()}
        return Response(answer.status, named, content)

    def _connect(self, scheme: str, netloc: str, end: float) -> http.client.HTTPConnection:
        try:
            if scheme == "https":
                self._tls = self._tls or ssl.create_default_context()
                connection: http.client.HTTPConnection = http.client.HTTPSConnection(netloc, context=self._tls)
            else:
                connection = http.client.HTTPConnection(netloc)
            tls = self._tls if scheme == "https" else None
            opened = connections.connect(connection.host, connection.port, tls, end)
        except (OSError, http.client.HTTPException) as error:
            raise NotSent(str(error) or type(error).__name__) from error
        # It has what `http.client` uses of one.
        connection.sock = cast(socket.socket, opened)
        return connection

    def _idle_connection(self, place: tuple[str, str], end: float) -> http.client.HTTPConnection | None:
        with self._lock:
            idle = self._idle.get(place, deque())
            while idle:
                connection = idle.pop()
                if _is_open(connection):
                    cast(connections.Connection, connection.sock).end = end
                    return connection
                connection.close()
        return None

    def _keep(self, place: tuple[str, str], connection: http.client.HTTPConnection) -> None:
        with self._lock:
            idle = self._idle.setdefault(place, deque())
            if connection.sock is not None and len(idle) < _IDLE_CONNECTIONS:
                idle.append(connection)
                return
        connection.close()


def _is_open(connection: http.client.HTTPConnection) -> bool:
    """An idle connection with something to read was closed by the server."""
    if connection.sock is None:
        return False
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return not selector.select(timeout=0)
