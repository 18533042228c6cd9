"""The Ray runner: batches are tasks on a cluster, and report as streams while they run."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from rung.errors import UserError
from rung.platform.runner import ClusterGone
from rung.platform.runner.desk import Desk
from rung.platform.runner.work import Batch, Reports, play_batch

_AHEAD = 2
"""Batches for each core: one that is played and one behind it."""
_LOOK_S = 1.0
"""How often to look which nodes there are."""
_GONE_S = 10.0
"""A cluster that cannot be reached for this long is gone; after a minute Ray would abort the driver."""
_REACH_S = 5.0
_HTTP2_HEAD, _HTTP2_SETTINGS = 9, b"\x04"
_HTTP2_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + _HTTP2_SETTINGS + b"\0\0\0\0\0"
_STDERR = 2
_ENOUGH_S = 0.1
"""How long to go on entering what comes in faster than it is entered."""
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",
}


def import_ray() -> Any:
    """Ray itself, told to be quiet."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise UserError(
            f"Ray is not installed ({error}); install it with pip install ray, or use --address pool."
        ) from error
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    if ray.is_initialized():
        raise UserError(
            "This process is connected to Ray already, and can be to one cluster only; stop that runner first."
        )
    return ray


def join_cluster(host: str, port: int, workers: int | None) -> RayRunner:
    """A runner on a cluster that others have started and will end."""
    address = f"{host}:{port}"
    if not _answers(host, port):
        raise UserError(
            f"No Ray cluster answers at {address}; start one with ray start --head --port {port}, or use --address local."
        )
    ray = import_ray()
    try:
        with silence():
            ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL, configure_logging=False)
    except Exception as error:
        ray.shutdown()
        raise UserError(f"The Ray cluster at {address} cannot be joined: {_refusal(error)}") from error
    return RayRunner(ray, host, port, workers, ray.shutdown)


def _refusal(error: BaseException) -> str:
    """The first cause. A token goes to no cluster unless the user says so, and that is what is forgotten most."""
    while error.__cause__:
        error = error.__cause__
    if "Unauthenticated" in str(error) or "InvalidAuthToken" in str(error):
        return "it wants another token; set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or ~/.ray/auth_token to its token."
    return reason(error)


@contextmanager
def silence() -> Iterator[None]:
    """Nothing comes out on the error stream: Ray's own core writes there, and what matters is raised as well."""
    kept, nowhere = os.dup(_STDERR), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, _STDERR)
    try:
        yield
    finally:
        os.dup2(kept, _STDERR)
        os.close(kept)
        os.close(nowhere)


def _answers(host: str, port: int) -> bool:
    """Whether a cluster's head listens there, as far as its first frame tells: Ray itself would try for minutes."""
    try:
        with closing(socket.create_connection((host, port), timeout=_REACH_S)) as line:
            if os.environ.get("RAY_USE_TLS", "0") not in {"0", ""}:
                return True
            line.sendall(_HTTP2_GREETING)
            return line.recv(_HTTP2_HEAD, socket.MSG_WAITALL)[3:4] == _HTTP2_SETTINGS
    except OSError:
        return False


def reason(error: BaseException, line: int = 0) -> str:
    """One line of what it says, as a sentence."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[line].strip()[:300].rstrip(".") + "."


class RayRunner(Desk):
    """Tasks on all nodes of a cluster. Ray plays nothing again by itself: what is lost comes back as lost."""

    def __init__(self, ray: Any, host: str, port: int, workers: int | None, leave: Callable[[], None]) -> None:
        super().__init__()
        self._ray, self._host, self._port, self._most, self._leave = ray, host, port, workers, leave
        self._streams: dict[Any, int] = {}
        self._play = ray.remote(num_cpus=1, max_retries=0, num_returns="streaming")(_play)
        self._cores = self._limit = 0
        self._looked = self._answered = time.monotonic()
        self._count_cores()

    @property
    def cores(self) -> int:
        self._look()
        return self._cores

    def _look(self) -> None:
        """Now and then: is the cluster there, and how large is it? Asking one that is gone would block, so try its door."""
        now = time.monotonic()
        if now - self._looked < _LOOK_S:
            return
        self._looked = now
        if _answers(self._host, self._port):
            self._answered = now
            self._count_cores()
        elif now - self._answered > _GONE_S:
            raise ClusterGone(f"The Ray cluster at {self._host}:{self._port} has not answered for {_GONE_S:.0f} s.")

    def _count_cores(self) -> None:
        found = sum(int(node["Resources"].get("CPU", 0)) for node in self._ray.nodes() if node["Alive"])
        self._cores = min(found, self._most or found)
        # Ray begins all it is given for which it has cores: where it may not use all, nothing can wait with it.
        self._limit = self._cores if self._cores < found else _AHEAD * self._cores

    def _hand_out(self) -> None:
        self._look()
        while len(self._streams) < self._limit:
            core_free = len(self._streams) < self._cores
            handed = self._book.next_batch(self._cores, core_free, time.monotonic())
            if handed is None:
                return
            self._streams[self._play.remote(handed.batch)] = handed.number

    def _listen(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not (ready := self._ready(deadline - time.monotonic())):
            self._look()
            if time.monotonic() >= deadline:
                return
        enough = time.monotonic() + _ENOUGH_S
        while ready:
            for stream in ready:
                self._follow(stream)
            ready = self._ready(0.0) if time.monotonic() < enough else []

    def _ready(self, timeout_s: float) -> list[Any]:
        """The streams that have something. Waits a second at most, so that the cluster is looked at."""
        if not self._streams:
            time.sleep(min(max(timeout_s, 0.0), _LOOK_S / 10))
            return []
        streams = list(self._streams)
        some, _ = self._ray.wait(streams, num_returns=1, timeout=min(max(timeout_s, 0.0), _LOOK_S))
        if some and len(streams) > 1:
            some, _ = self._ray.wait(streams, num_returns=len(streams), timeout=0)
        return some

    def _follow(self, stream: Any) -> None:
        """The next reports of a stream, or its end."""
        number = self._streams[stream]
        try:
            reports: Reports = self._ray.get(next(stream))
        except StopIteration:
            del self._streams[stream]
            self._book.end(number)
        except self._ray.exceptions.RayError as error:
            del self._streams[stream]
            self._book.lose(number, self._why(error))
        else:
            self._book.hear(number, reports, time.monotonic())

    def _why(self, error: Exception) -> str:
        kinds = self._ray.exceptions
        if isinstance(error, kinds.OutOfMemoryError):
            return "Ray's memory monitor ended the worker: its node ran out of memory"
        if isinstance(error, kinds.NodeDiedError):
            return "the worker's node left the cluster"
        if isinstance(error, kinds.WorkerCrashedError):
            return "the worker process was killed or crashed"
        if isinstance(error, kinds.RayTaskError):
            return f"the worker cannot play: {reason(error, line=-1)}"
        return f"Ray lost it ({type(error).__name__}): {reason(error)}"

    def _end(self) -> None:
        for stream in self._streams:
            self._ray.cancel(stream, force=True)
        self._streams.clear()
        self._leave()


def _play(batch: Batch) -> Iterator[Reports]:
    yield from play_batch(batch)
