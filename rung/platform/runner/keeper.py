"""Waits for the end of a driver; then ends what its Ray has left running and removes the folder. A program of its own."""

from __future__ import annotations

import shutil
import sys
import time

import psutil

_PATIENCE_S = 10.0
_LOOK_S = 0.05
_QUIET_LOOKS = 2


def users(folder: str, driver: int) -> list[psutil.Process]:
    """The processes that have a file in the folder open: all of Ray's keep their logs there. Never the driver."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != driver and any(file.path.startswith(folder + "/") for file in process.open_files()):
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def end_all(folder: str, driver: int) -> None:
    """End them until none comes any more, and remove the folder."""
    deadline, quiet = time.monotonic() + _PATIENCE_S, 0
    while quiet < _QUIET_LOOKS and time.monotonic() < deadline:
        left = users(folder, driver)
        for process in left:
            try:
                process.kill()
            except psutil.Error:
                continue
        quiet = 0 if left else quiet + 1
        time.sleep(_LOOK_S)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.stdin.buffer.read()
    end_all(sys.argv[1], int(sys.argv[2]))
