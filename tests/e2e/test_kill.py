"""Kill a tournament's process at any moment, again and again: nothing is lost, nothing counts twice, and it goes on."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from pathlib import Path

import pytest

from rung.platform.store import Store, open_store
from tests.conftest import RUNG

CUP = """
game = "connect_four"
agents = ["random", "first", "osla", "mcts(iterations=60)", "mcts(iterations=61)"]
seed = 4
[stop]
matches = 700
"""
KILLS = 5


def start(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [str(RUNG), "tournament", "cup.toml", *options]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )


def results(folder: Path) -> list[tuple[int, list[int], list[int]]]:
    with open_store(str(folder / "rung.db"), create=False) as store:
        log = store.columns(store.ladder("cup").id)
    return sorted(zip(log.group.tolist(), log.agents.tolist(), log.ranks.tolist(), strict=True))


def check(store: Store) -> int:
    """What must hold at any moment; returns how many matches are in the log."""
    ladder = store.ladder("cup")
    log = store.columns(ladder.id)
    assert len(set(log.match.tolist())) == len(log)
    assert log.seq.tolist() == list(range(1, len(log) + 1))
    assert store.verify(ladder.id) == []
    counts = store.counts(ladder.id)
    assert counts.finished == len(log)
    assert counts.parked == 0
    return len(log)


@pytest.mark.parametrize("address", ["serial", "pool"])
def test_killed_again_and_again_it_plays_the_same_matches(tmp_path: Path, address: str) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        folder.mkdir()
        (folder / "cup.toml").write_text(CUP)
    assert start(whole, "--address", "serial").wait(timeout=200) == 0
    luck, seen, kills = random.Random(address), 0, 0
    process = start(broken, "--address", address)
    while kills < KILLS:
        process = _kill_after(process, broken, seen + luck.randrange(1, 90))
        kills += 1
        with open_store(str(broken / "rung.db"), create=False) as store:
            now_seen = check(store)
        assert now_seen >= seen
        seen = now_seen
        process = start(broken, "--address", address, "--resume")
    assert process.wait(timeout=200) == 0
    assert results(broken) == results(whole)
    listed = subprocess.run([str(RUNG), "ladders", "--json"], cwd=broken, capture_output=True, check=True).stdout
    assert json.loads(listed)[0]["finished"] == 700


def _kill_after(process: subprocess.Popen[bytes], folder: Path, matches: int) -> subprocess.Popen[bytes]:
    """Wait until so many matches are in the log, and end the process as a power cut would."""
    while process.poll() is None:
        if (folder / "rung.db").exists():
            with open_store(str(folder / "rung.db"), create=True) as store:
                found = [ladder.log_length for ladder in store.ladders()]
            if found and found[0] >= matches:
                break
    assert process.poll() is None, process.stderr and process.stderr.read().decode()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return process
