"""Ending processes, and all that they have started."""

from __future__ import annotations

import contextlib
import os

import psutil


def end_tree(pid: int) -> None:
    """End a process and its descendants at once. Gone ones are fine."""
    try:
        root = psutil.Process(pid)
        family = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def end_myself() -> None:
    """End this process and its descendants; what they hold is not put in order."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
    os._exit(1)


def cores_here() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else psutil.cpu_count() or 1
