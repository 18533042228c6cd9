"""Ray on this machine alone, for as long as the runner lives."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil

from rung.errors import UserError
from rung.platform.runner import keeper
from rung.platform.runner.cluster import RayRunner, import_ray, reason, silence
from rung.platform.runner.processes import cores_here

_MEMORY_MB, _WORKER_MB = 700, 200
"""What Ray itself takes, and what every worker takes at least."""
_STORE_MB = 80
"""Ray's least; results are small and hardly touch it."""
_SHM = Path("/dev/shm")
_MB = 1 << 20
_LONGEST_FOLDER = 40
"""Ray's sockets lie some 60 characters below it, and a socket's path has 107 at most."""
_SETTINGS = {
    "RAY_task_events_report_interval_ms": "0",
    "RAY_DISABLE_DOCKER_CPU_WARNING": "1",
}
_TOKEN_SETTING = "RAY_AUTH_TOKEN"
_TOKEN = secrets.token_hex(32)
"""Whoever wants to use a Ray that this process starts has to know it; only its children do."""


def local_runner(workers: int | None) -> RayRunner:
    """A runner on a Ray of its own, which nobody else can use and which ends with it, however this process ends."""
    cores = workers or cores_here()
    _check_memory(cores)
    ray = import_ray()
    folder = _folder()
    keeping = _Keeper(folder)

    def leave() -> None:
        ray.shutdown()
        keeping.clean()

    try:
        with _environment({**_SETTINGS, _TOKEN_SETTING: _TOKEN}), silence():
            context = ray.init(
                address="local",
                num_cpus=cores,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.CRITICAL,
                configure_logging=False,
                object_store_memory=_STORE_MB * _MB,
                _temp_dir=str(folder / "r"),  # Ray opens its own folder to everybody; ours keeps them out
            )
    except Exception as error:
        leave()
        raise UserError(f"Ray does not start on this machine, so use --address pool: {reason(error)}") from error
    host, _, port = context.address_info["gcs_address"].rpartition(":")
    return RayRunner(ray, host, int(port), workers, leave)


def _check_memory(workers: int) -> None:
    needed = _MEMORY_MB + workers * _WORKER_MB
    free = psutil.virtual_memory().available // _MB
    if free < needed:
        raise UserError(
            f"Ray with {workers} workers needs {needed} MB of memory and only {free} MB are free; use --address pool."
        )
    if _SHM.exists() and (free := shutil.disk_usage(_SHM).free // _MB) < _STORE_MB:
        raise UserError(
            f"Ray needs {_STORE_MB} MB in {_SHM} and only {free} MB are free; make it larger or use --address pool."
        )


def _folder() -> Path:
    usual = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="rung-ray-", dir=usual if len(usual) <= _LONGEST_FOLDER else "/tmp"))


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """The environment with these, while Ray starts; what the user has set for Ray stays, except for who may use it."""
    before = dict(os.environ)
    os.environ.update({name: value for name, value in values.items() if name not in before or name == _TOKEN_SETTING})
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)


class _Keeper:
    """A small process that outlives this one by a moment, and ends what Ray leaves behind if this one is killed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-I", keeper.__file__, str(folder), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def clean(self) -> None:
        """Let it do its work now, and wait until nothing is left."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait()
