"""How long a new process takes: to print its help, and to the first move of a search.

Every figure is the wall time of a whole process, the median of several taken in turns. The first move is one decision of
1000 simulations in connect_four; "empty cache" compiles everything, in a cache folder of its own, and "warm cache" finds
that folder full. The peer imports pyspiel and makes one move of the same search with OpenSpiel's C++ MCTS.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from _peers import EXPLORATION, OPENSPIEL_EXPLORATION, show, verdict

ROUNDS = 5
COLD_ROUNDS = 3
UNWANTED = ("ray", "numba", "scipy")
COMMAND = str(Path(sys.executable).parent / "rung")
HELP, WARM, COLD, PEER = "rung --help", "first move, warm cache", "first move, empty cache", "OpenSpiel's first move"
AIMS_S = {HELP: 0.3, WARM: 1.5, COLD: 15.0}

RUNG_MOVE = f"""
from math import inf
from rung.agents.agent import View
from rung.agents.spec import make as make_agent
from rung.games import make
from rung.games.rng import stream
game = make("connect_four")
agent = make_agent("mcts(iterations=1000, exploration={EXPLORATION})")
agent.start(game, 0, 1)
agent.act(View(game, 0, game.new_state(stream(0)).observe(0), [], inf))
"""
OPENSPIEL_MOVE = f"""
import pyspiel
game = pyspiel.load_game("connect_four")
evaluator = pyspiel.RandomRolloutEvaluator(1, 1)
bot = pyspiel.MCTSBot(game, evaluator, {OPENSPIEL_EXPLORATION}, 1000, 1000, False, 1, False)
bot.step(game.new_initial_state())
"""


def wall_s(command: list[str], cache: Path) -> float:
    """How long the command takes, with this folder for caches."""
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "XDG_CACHE_HOME": str(cache)})
    return time.perf_counter() - began


def cold_s() -> float:
    """How long the first move takes when everything must be compiled."""
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        used_s = wall_s([sys.executable, "-c", RUNG_MOVE], cache)
        if not any(cache.rglob("*.nbi")):
            sys.exit("start.py: the cache did not follow XDG_CACHE_HOME, so there is no empty one to start from.")
    return used_s


def unwanted_imports() -> list[str]:
    """Which heavy packages the help imports."""
    command = [sys.executable, "-X", "importtime", COMMAND, "--help"]
    timed = subprocess.run(command, check=True, capture_output=True, text=True).stderr.splitlines()
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in timed if line.startswith("import time:")}
    assert "rung" in imported
    return sorted(imported.intersection(UNWANTED))


def measured_s() -> dict[str, list[float]]:
    """The times of all rounds."""
    found: dict[str, list[float]] = {HELP: [], WARM: [], COLD: [], PEER: []}
    commands = {
        HELP: [COMMAND, "--help"],
        WARM: [sys.executable, "-c", RUNG_MOVE],
        PEER: [sys.executable, "-c", OPENSPIEL_MOVE],
    }
    with tempfile.TemporaryDirectory() as cache:
        for command in commands.values():
            wall_s(command, Path(cache))
        for number in range(ROUNDS):
            for name, command in commands.items():
                found[name].append(wall_s(command, Path(cache)))
            if number < COLD_ROUNDS:
                found[COLD].append(cold_s())
    return found


def main() -> None:
    rows = []
    for name, times in measured_s().items():
        typical = median(times)
        aim = AIMS_S.get(name)
        judged = [f"<= {aim:g}", verdict(typical <= aim)] if aim is not None else ["", ""]
        rows.append([name, f"{typical:.2f}", f"{min(times):.2f}", f"{max(times):.2f}", *judged])
    show("Seconds of a new process", ["", "median", "least", "most", "aim", ""], rows)
    found = unwanted_imports()
    print(f"\nrung --help imports {', '.join(found) or 'none'} of {', '.join(UNWANTED)}: {verdict(not found)}")


if __name__ == "__main__":
    main()
