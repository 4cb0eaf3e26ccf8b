"""One HTTP request, with the standard library: connections are kept and used again."""

from __future__ import annotations

import http.client
import os
import selectors
import ssl
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

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
        """POSTs once, follows no redirect. Raises NotSent or Lost."""


class HttpTransport:
    """Safe to share between threads, and after a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[tuple[str, str], deque[http.client.HTTPConnection]] = {}
        self._process = os.getpid()
        self._tls: ssl.SSLContext | None = None

    def __call__(self, url: str, headers: Mapping[str, str], body: bytes, timeout_seconds: float) -> Response:
        parts = urlsplit(url)
        place = (parts.scheme, parts.netloc)
        connection = self._idle_connection(place)
        if connection is None:
            connection = self._connect(parts.scheme, parts.netloc, timeout_seconds)
        elif connection.sock is not None:
            connection.sock.settimeout(timeout_seconds)
        try:
            connection.request("POST", parts.path, body, dict(headers))
            answer = connection.getresponse()
            content = answer.read(_LONGEST_ANSWER_BYTES)
            is_whole = answer.isclosed()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Lost(str(error) or type(error).__name__) from error
        if is_whole:
            self._keep(place, connection)
        else:
            connection.close()
        named = {name.lower(): value for name, value in answer.getheaders()}
        return Response(answer.status, named, content)

    def _connect(self, scheme: str, netloc: str, timeout_seconds: float) -> http.client.HTTPConnection:
        try:
            if scheme == "https":
                self._tls = self._tls or ssl.create_default_context()
                connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                    netloc, timeout=timeout_seconds, context=self._tls
                )
            else:
                connection = http.client.HTTPConnection(netloc, timeout=timeout_seconds)
            connection.connect()
        except (OSError, http.client.HTTPException) as error:
            raise NotSent(str(error) or type(error).__name__) from error
        return connection

    def _idle_connection(self, place: tuple[str, str]) -> http.client.HTTPConnection | None:
        with self._lock:
            if self._process != os.getpid():
                # Those of the parent process are its own.
                self._idle.clear()
                self._process = os.getpid()
            idle = self._idle.get(place, deque())
            while idle:
                connection = idle.pop()
                if _is_open(connection):
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
