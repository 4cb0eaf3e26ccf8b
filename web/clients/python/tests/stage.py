"""Stands for the service and the time: answers in order, and a sleep that takes none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Union

from referral_tracker.client import Surroundings, Tracker
from referral_tracker.transport import Lost, NotSent, Response


@dataclass
class Scene:
    """What happens to one attempt."""

    status: int
    body: Any = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Sent:
    url: str
    headers: Mapping[str, str]
    body: Any


class Stage:
    def __init__(self, *scenes: Union[Scene, Exception]) -> None:
        self._scenes = list(scenes)
        self._now = 1_798_796_400.0
        self.requests: list[Sent] = []
        self.slept: list[float] = []

    def tracker(self, **options: Any) -> Tracker:
        surroundings = Surroundings(now=lambda: self._now, random=lambda: 0.5, sleep=self._sleep)
        return Tracker(
            "https://track.example/", "aff_secret", transport=self._send, surroundings=surroundings, **options
        )

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._now += seconds

    def _send(self, url: str, headers: Mapping[str, str], body: bytes, timeout_seconds: float) -> Response:
        self.requests.append(Sent(url, headers, json.loads(body)))
        assert self._scenes, "nothing was to be sent any more"
        assert timeout_seconds > 0
        scene = self._scenes.pop(0)
        if isinstance(scene, Exception):
            raise scene
        return Response(scene.status, scene.headers, json.dumps(scene.body).encode())


LOST = Lost("the connection was reset")
NOT_SENT = NotSent("connection refused")
