"""What a queue does at the end of its process, and in a forked one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BEGIN = """
import atexit, os, threading
from referral_tracker import Queue
from referral_tracker.outcomes import LeadRecorded

class Tracker:
    def __init__(self, send):
        self.track = lambda noun, body, *rest: send(body["customer_key"]) or LeadRecorded(provisional=False)

def fail(event, error):
    print(event.body["customer_key"], type(error).__name__, flush=True)
"""


def output(script: str) -> list[str]:
    """What a process with this script prints. It must end."""
    source = str(Path(__file__).parent.parent / "src")
    ended = subprocess.run(
        [sys.executable, "-c", BEGIN + script],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": source},
    )
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended.stdout.splitlines()


def test_python_waits_for_the_queue_at_its_end() -> None:
    script = """
is_at_its_end = threading.Event()
threading._register_atexit(is_at_its_end.set)

def send(key):
    is_at_its_end.wait()
    print("sent", key, flush=True)

queue = Queue(Tracker(send), fail)
queue.lead(customer_key="a")
queue.lead(customer_key="a")
"""
    assert output(script) == ["sent a", "sent a"]


def test_after_python_waited_nothing_more_is_taken() -> None:
    script = """
queue = Queue(Tracker(lambda key: print("sent", key, flush=True)), fail)
atexit.register(lambda: print(queue.lead(customer_key="late"), flush=True))
queue.lead(customer_key="a")
"""
    assert output(script) == ["sent a", "late RuntimeError", "False"]


def test_what_is_in_flight_when_the_queue_is_closed_in_a_hurry_does_not_keep_the_process() -> None:
    script = """
is_sent = threading.Event()

def send(key):
    is_sent.set()
    threading.Event().wait()

queue = Queue(Tracker(send), fail)
queue.lead(customer_key="a")
is_sent.wait()
queue.close(0)
"""
    assert output(script) == ["a UnavailableError"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_a_forked_process_begins_afresh() -> None:
    script = """
is_sent, may_end = threading.Event(), threading.Event()

def send(key):
    is_sent.set()
    if key == "of the parent":
        may_end.wait()
    print("sent", key, flush=True)

queue = Queue(Tracker(send), fail)
queue.lead(customer_key="of the parent")
is_sent.wait()
child = os.fork()
if child == 0:
    print(len(queue), queue.lead(customer_key="of the parent's child"), queue.flush(30), flush=True)
else:
    os.waitpid(child, 0)
    may_end.set()
"""
    assert output(script) == ["sent of the parent's child", "0 True True", "sent of the parent"]
