"""Compiling with numba, and where the compiled code is kept.

Numba's disk cache notices a change to the file a function stands in, but not to the functions it calls from other files,
so after an edit it can go on playing by the old rules. Rung therefore keeps compiled code in a folder named by a digest of
every source that can end up in it: another source, another folder. The folder is under the user's cache directory, so an
install that cannot be written to works as well.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
from platformdirs import user_cache_path

P = ParamSpec("P")
T = TypeVar("T")

_OURS = Path(__file__).resolve().parent
# What code in each part can be compiled from: itself and the parts it may import.
_SOURCES = {
    "games": (_OURS / "jit.py", _OURS / "games"),
    "agents": (_OURS / "jit.py", _OURS / "games", _OURS / "agents"),
    "scheduler": (_OURS / "jit.py", _OURS / "scheduler"),
}
_KEEP_UNUSED_S = 30 * 24 * 3600
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True}


def jit(function: Callable[P, T]) -> Callable[P, T]:
    """A helper that kernels and engines call; it is compiled into each of its callers and needs no cache of its own."""
    compiled: Callable[P, T] = numba.njit(**_OPTIONS)(function)
    return compiled


def entry(function: Callable[P, T]) -> Callable[P, T]:
    """A compiled function that Python calls: kept on disk, so that a new process need not compile it."""
    with cache_folder(function):
        compiled: Callable[P, T] = numba.njit(cache=True, **_OPTIONS)(function)
    return compiled


def callback(signature: Any, function: Callable[..., Any]) -> Any:
    """A C function with a fixed address, kept on disk."""
    with cache_folder(function):
        return numba.cfunc(signature, cache=True, **_OPTIONS)(function)


@contextmanager
def cache_folder(function: Callable[..., Any]) -> Iterator[None]:
    """While this lasts, numba keeps what it compiles in the folder for the function's sources."""
    config: Any = numba.config
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder_for(Path(function.__code__.co_filename).resolve()))
    try:
        yield
    finally:
        config.CACHE_DIR = before


def folder_for(file: Path) -> Path:
    """The folder for code compiled from this file: named by the sources of its part or, for outsiders, of their package."""
    if file.is_relative_to(_OURS):
        return _prepared(_digest(_SOURCES[file.relative_to(_OURS).parts[0]]))
    return _prepared(_digest((*_SOURCES["agents"], _package_root(file))))


@contextmanager
def first_use(name: str) -> Iterator[bool]:
    """Whether this name was never used with the present sources on this machine; from the end of the block on it was."""
    marker = _prepared(_digest(_SOURCES["agents"])) / f"used-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    yield not marker.exists()
    marker.touch()


@lru_cache
def _digest(roots: tuple[Path, ...]) -> str:
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for root in roots:
        for file in sorted(root.rglob("*.py")) if root.is_dir() else [root]:
            digest.update(str(file).encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _package_root(file: Path) -> Path:
    """The top folder of the package the file belongs to; the file itself when it belongs to none."""
    root = file
    while (root.parent / "__init__.py").exists():
        root = root.parent
    return root


@lru_cache
def _prepared(digest: str) -> Path:
    """The folder, made if need be; folders no process has used for a month are removed with it."""
    for parent in (
        user_cache_path("rung") / "compiled",
        Path(tempfile.gettempdir()) / f"rung-{os.getuid()}" / "compiled",
    ):
        folder = parent / digest
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.utime(folder)
        except OSError:
            continue
        if os.access(folder, os.W_OK) and folder.stat().st_uid == os.getuid():
            _remove_unused(parent)
            return folder
    return Path(tempfile.mkdtemp(prefix="rung-compiled-"))


def _remove_unused(parent: Path) -> None:
    for folder in parent.iterdir():
        if time.time() - folder.stat().st_mtime > _KEEP_UNUSED_S:
            shutil.rmtree(folder, ignore_errors=True)
