"""What the driver's end, its terminal and its environment mean to a runner: each test runs a driver of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import psutil
import pytest

from rung.errors import UserError
from rung.platform.runner import open_runner
from tests.platform.runner.conftest import tasks, until

DRIVER = dedent("""
    import signal, sys
    from rung.platform.match import MatchSpec
    from rung.platform.runner import Task, open_runner

    def main(address, folder):
        signal.signal(signal.SIGINT, lambda *_: None)
        agents = (f"waits(folder={folder!r})", "first")
        with open_runner(address, workers=2) as runner:
            runner.submit([Task(match, 1, MatchSpec("connect_four", agents, 0, 0), 10.0) for match in range(2)])
            done = []
            while len(done) < 2:
                done += runner.collect(0.1)
            print(sum(one.result is not None for one in done), "played,", sum(one.lost != "" for one in done), "lost")

    if __name__ == "__main__":
        main(*sys.argv[1:])
""")


@contextmanager
def driver(address: str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """A driver in a session of its own with both workers in their matches; and all processes under it. Its environment
    names a Ray cluster that is not there, which is none of its business."""
    script = folder / "driver.py"
    script.write_text(DRIVER)
    playing = folder / "playing"
    playing.mkdir()
    process = subprocess.Popen(
        [sys.executable, str(script), address, str(playing)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env={**os.environ, "HOME": str(folder), "RAY_ADDRESS": "127.0.0.1:1"},
    )
    try:
        until(lambda: len(list(playing.iterdir())) == 2 or process.poll() is not None)
        yield process, psutil.Process(process.pid).children(recursive=True)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("address", ["pool", "local"])
def test_a_killed_driver_leaves_nothing(address: str, outsiders: Path, tmp_path: Path) -> None:
    """kill -9 of the driver in mid-match ends all its processes, and Ray's folder, into which nobody
    else can look, goes with them."""
    with driver(address, tmp_path) as (process, family):
        assert len(family) >= 2
        files = [Path(file.path) for one in family for file in one.open_files()]
        folders = {folder for file in files for folder in file.parents if folder.name.startswith("rung-ray-")}
        assert len(folders) == (address == "local")
        assert all(folder.stat().st_mode & 0o777 == 0o700 for folder in folders)
        process.kill()
        until(lambda: not any(alive(one) for one in family))
        until(lambda: not any(folder.exists() for folder in folders))


@pytest.mark.parametrize("address", ["pool", "local"])
def test_only_the_driver_hears_ctrl_c(address: str, outsiders: Path, tmp_path: Path) -> None:
    """Ctrl-C reaches every process of the terminal; a driver that catches it loses no match by it, and ends all at its end.
    Nothing but its own words comes out, not even when a worker dies."""
    with driver(address, tmp_path) as (process, family):
        os.killpg(process.pid, signal.SIGINT)
        victim = next((tmp_path / "playing").iterdir())
        os.kill(int(victim.name), signal.SIGKILL)
        (tmp_path / "playing" / "go").touch()
        out, _ = process.communicate(timeout=60)
        assert out == "1 played, 1 lost\n"
        until(lambda: not any(alive(one) for one in family))
        assert not (tmp_path / ".ray").exists()


def alive(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("address", ["", "loca", "somewhere", "host:", ":6379", "host:port", "host:0", "host:65536"])
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(UserError, match=r"serial .* pool .* local .* host:port"):
        open_runner(address)


def test_a_cluster_that_is_not_there() -> None:
    with pytest.raises(UserError, match=r"127\.0\.0\.1:1; .*ray start --head --port 1.*--address local"):
        open_runner("127.0.0.1:1")


def test_something_else_at_the_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            with server.accept()[0] as line:
                line.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=greet).start()
        with pytest.raises(UserError, match="No Ray cluster answers"):
            open_runner(f"127.0.0.1:{server.getsockname()[1]}")


def test_a_ray_client_address_is_refused() -> None:
    with pytest.raises(UserError, match="--address host:port"):
        open_runner("ray://127.0.0.1:10001")


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Ray is not installed the pool is offered."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"Ray is not installed .*--address pool"):
        open_runner("local")


@pytest.mark.parametrize(("need", "words"), [("_MEMORY_MB", "memory"), ("_STORE_MB", "/dev/shm")])
def test_too_little_memory(need: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """When Ray needs more than there is, that is said before it is started, and the pool is offered."""
    from rung.platform.runner import local

    monkeypatch.setattr(local, need, 1 << 30)
    with pytest.raises(UserError, match=f"{words}.*--address pool"):
        open_runner("local")


@pytest.mark.parametrize("setting", ["lots", "-1", "0", "399", ""])
def test_a_memory_setting_that_cannot_be(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNG_WORKER_MEMORY_MB", setting)
    with pytest.raises(UserError, match=f"RUNG_WORKER_MEMORY_MB must be .* at least 400, not '{setting}'"):
        open_runner("pool")


def test_workers_that_cannot_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool whose processes end before they play says so instead of starting them for ever."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\nif '--multiprocessing-fork' in sys.orig_argv: os._exit(9)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with open_runner("pool", workers=1) as runner:

        def play() -> None:
            runner.submit(tasks(1))
            runner.collect(1.0)

        with pytest.raises(UserError, match=r"end before they play: .* exit code 9"):
            until(lambda: False, meanwhile=play)
        runner.stop(now=True)


def test_the_shell_does_not_import_ray() -> None:
    """`rung --help` starts at once."""
    code = "import sys, rung.platform.runner, rung.platform.cli; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
