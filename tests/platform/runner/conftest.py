"""Runners of every kind, agents that kill their worker, and a Ray cluster whose nodes come and go."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from rung.agents import AGENTS
from rung.platform.match import MatchSpec
from rung.platform.runner import Done, Runner, Task, open_runner
from rung.platform.runner.processes import end_tree
from tests.conftest import write_package

PATIENCE_S = 60.0
GAME = "connect_four"

SOURCE = '''
"""Agents that do to their worker what submitted code may do."""

import ctypes
import os
import time
from pathlib import Path

from rung.agents.agent import Agent
from rung.parameters import Parameter


class Waits(Agent):
    """Says who it is by a file, and plays on when there is another."""

    name, summary = "waits", "Waits for a file."
    parameters = (Parameter("folder", "", "where the files are"),)

    def act(self, view):
        folder = Path(str(self.values["folder"]))
        (folder / str(os.getpid())).touch()
        while not (folder / "go").exists():
            time.sleep(0.005)
        return int(view.legal[0])


class Exits(Agent):
    name, summary = "exits", "Ends its process."

    def act(self, view):
        os._exit(7)


class Segfaults(Agent):
    name, summary = "segfaults", "Reads where nothing is."

    def act(self, view):
        return ctypes.string_at(0)[0]


class Eats(Agent):
    """Takes memory until it gets no more."""

    name, summary = "eats", "Takes all memory."

    def act(self, view):
        eaten = []
        while True:
            eaten.append(bytearray(b"x") * (64 << 20))


class Threads(Agent):
    """Plays a column that tells how many threads its BLAS may use, and whether its environment says so too."""

    name, summary = "threads", "Tells the number of BLAS threads."

    def act(self, view):
        from threadpoolctl import threadpool_info

        most = max([int(os.environ["OMP_NUM_THREADS"]), *(pool["num_threads"] for pool in threadpool_info())])
        return min(most, 6)
'''
NAMES = ("waits", "exits", "segfaults", "eats", "threads")


@pytest.fixture(scope="module")
def outsiders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A package with these agents, installed for every process that is started from here while these tests run: other
    modules' tests, on the same worker of pytest, know nothing of it."""
    folder = tmp_path_factory.mktemp("outsiders")
    points = {name: f"runner_agents:{name.title()}" for name in NAMES}
    write_package(folder, {"runner_agents.py": SOURCE}, {"rung.agents": points})
    AGENTS.names()  # the tests' own process has read what is installed, and goes on without these
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
        yield folder


@pytest.fixture(scope="module")
def local_ray(outsiders: Path) -> Iterator[Runner]:
    """One Ray on this machine for the tests of a module: starting one takes seconds."""
    with open_runner("local", workers=2) as runner:
        yield runner


@pytest.fixture(params=["pool", "local"])
def runner(request: pytest.FixtureRequest, outsiders: Path) -> Iterator[Runner]:
    """Two workers that are processes of their own."""
    if request.param == "local":
        yield request.getfixturevalue("local_ray")
    else:
        with open_runner("pool", workers=2) as pool:
            yield pool


def tasks(
    number: int, agents: tuple[str, str] = ("random", "first"), first: int = 0, expected_s: float = 0.01
) -> list[Task]:
    """Matches that differ in nothing but their seeds."""
    return [
        Task(match, 1, MatchSpec(GAME, agents, deal=match, seed=match), expected_s)
        for match in range(first, first + number)
    ]


def waiting(number: int, folder: Path, first: int = 0, expected_s: float = 10.0) -> list[Task]:
    """Matches that stop until `let_go`; by default each alone on its worker."""
    return tasks(number, (f"waits(folder={str(folder)!r})", "first"), first, expected_s)


def let_go(folder: Path) -> None:
    (folder / "go").touch()


def playing(folder: Path, number: int, runner: Runner) -> list[int]:
    """The process ids of this many workers, once they are in their matches."""
    until(lambda: len(list(folder.iterdir())) >= number, lambda: assert_nothing(runner.collect(0.05)))
    return [int(file.name) for file in folder.iterdir()]


def assert_nothing(done: Sequence[Done]) -> None:
    assert not done


def collect(runner: Runner, number: int) -> list[Done]:
    """The next this many."""
    done: list[Done] = []
    until(lambda: len(done) >= number, lambda: done.extend(runner.collect(1.0)))
    assert len(done) == number
    return done


def until(true: Callable[[], bool], meanwhile: Callable[[], object] = lambda: time.sleep(0.02)) -> None:
    """Wait for it to be true."""
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        meanwhile()


def numbers(found: Sequence[Done] | Sequence[Task]) -> list[int]:
    return sorted(one.task.match if isinstance(one, Done) else one.match for one in found)


QUICK_TO_NOTICE = {"RAY_health_check_period_ms": "500", "RAY_health_check_failure_threshold": "2"}
"""Left alone, Ray takes 17 seconds to give up a node."""


class Nodes:
    """A cluster of one node with one core, and at times a second one, as people start them."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("", 0))
            port = free.getsockname()[1]
        self._address = f"127.0.0.1:{port}"
        self._nodes = [_ray_start("--head", f"--port={port}", f"--temp-dir={folder}", "--include-dashboard=false")]

    @property
    def address(self) -> str:
        """Of the head, once it answers."""
        host, port = self._address.split(":")
        until(lambda: _answers(host, int(port)))
        return self._address

    def add(self) -> None:
        self._nodes.append(_ray_start(f"--address={self.address}"))

    def kill(self) -> None:
        """kill -9 of the whole node that came last."""
        node = self._nodes.pop()
        end_tree(node.pid)
        node.wait()


def _ray_start(*options: str) -> subprocess.Popen[bytes]:
    command = [str(Path(sys.executable).parent / "ray"), "start", "--block", "--num-cpus=1", "--disable-usage-stats"]
    return subprocess.Popen(
        [*command, f"--object-store-memory={80 << 20}", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "RAY_AUTH_MODE": "disabled", **QUICK_TO_NOTICE},
    )


def _answers(host: str, port: int) -> bool:
    with socket.socket() as trial:
        return trial.connect_ex((host, port)) == 0


@pytest.fixture
def nodes(outsiders: Path) -> Iterator[Nodes]:
    with tempfile.TemporaryDirectory(prefix="rung-test-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        cluster = Nodes(Path(folder))
        yield cluster
        while cluster._nodes:
            cluster.kill()
