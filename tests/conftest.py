"""What several parts' tests need: packages of other people, and the `rung` command as people run it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import settings

# The same cases on every machine; and compiling, the first time, takes longer than any deadline.
settings.register_profile("rung", derandomize=True, deadline=None)
settings.load_profile("rung")

RUNG = Path(sys.executable).parent / "rung"

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def write_package(folder: Path, files: Mapping[str, str], entry_points: Mapping[str, Mapping[str, str]]) -> None:
    """Lay out an installed package: its files, and the metadata in which pip would record its entry points."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    info = folder / "outsider-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outsider\nVersion: 1.0\n")
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in points.items())
        for group, points in entry_points.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups))


def with_path(folder: Path) -> dict[str, str]:
    """The environment in which the packages of this folder are installed."""
    return {**os.environ, "PYTHONPATH": str(folder)}


@pytest.fixture
def rung(tmp_path: Path) -> Run:
    """`rung("play", …, path=folder)` runs the command in a directory of its own."""

    def run(*arguments: str, path: Path | None = None, text: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(RUNG), *arguments],
            capture_output=True,
            text=True,
            input=text,
            cwd=tmp_path,
            env=with_path(path) if path else None,
            check=False,
            timeout=120,
        )

    return run
