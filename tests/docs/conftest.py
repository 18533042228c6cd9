"""The pages as their readers use them: their code laid out in folders, their commands typed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rung.jit import folder_for

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LIMIT_S = 300  # for a command that hangs

Blocks = Callable[[str, str], list[str]]
Install = Callable[..., Path]
Run = Callable[..., subprocess.CompletedProcess[str]]


def blocks_of(page: str, language: str) -> list[str]:
    """The code blocks of this language on a page, named by its path in the repository."""
    return [text for kind, text in BLOCK.findall((ROOT / page).read_text()) if kind == language]


@pytest.fixture(scope="session")
def blocks() -> Blocks:
    return blocks_of


@pytest.fixture(scope="session")
def install(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Install]:
    """`install(page, code)`: the project that a page draws, with other code than the page's if given; returns its folder.

    The page's `pyproject.toml` becomes the metadata that pip would leave beside the package. What was compiled for it is
    removed in the end.
    """
    modules: list[Path] = []

    def install(page: str, code: str | None = None) -> Path:
        top = tmp_path_factory.mktemp("project")
        module = code if code is not None else blocks_of(page, "python")[0]
        contents = {"pyproject.toml": blocks_of(page, "toml")[0], "(empty)": "", "(the code above)": module}
        files = _drawn(next(text for text in blocks_of(page, "") if "pyproject.toml" in text))
        for path, remark in files.items():
            file = top / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(contents[remark or file.name])
        modules.extend(top / path for path, remark in files.items() if remark == "(the code above)")
        project = next(top.iterdir())
        _add_metadata(project)
        return project

    yield install
    for module in modules:
        shutil.rmtree(folder_for(module))


def _drawn(tree: str) -> dict[str, str]:
    """The files of a tree drawn by indentation, each with the remark behind it."""
    files, above = {}, [""]
    for line in tree.splitlines():
        name, _, remark = line.strip().partition(" ")
        depth = (len(line) - len(line.lstrip())) // 2
        above[depth + 1 :] = [above[depth] + name]
        if not name.endswith("/"):
            files[above[-1]] = remark.strip()
    return files


def _add_metadata(project: Path) -> None:
    described = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    metadata = project / f"{described['name'].replace('-', '_')}-{described['version']}.dist-info"
    metadata.mkdir()
    heading = f"Metadata-Version: 2.1\nName: {described['name']}\nVersion: {described['version']}\n"
    (metadata / "METADATA").write_text(heading)
    groups = [
        "\n".join([f"[{group}]", *(f"{name} = {target}" for name, target in points.items())])
        for group, points in described["entry-points"].items()
    ]
    (metadata / "entry_points.txt").write_text("\n".join(groups) + "\n")


@pytest.fixture(scope="session")
def run() -> Run:
    """`run(words, folder, project)`: a command typed in a folder, with a project installed if one is given."""

    def run(words: list[str], folder: Path, project: Path | None = None) -> subprocess.CompletedProcess[str]:
        programs = Path(sys.executable).parent
        environment = {name: value for name, value in os.environ.items() if name != "FORCE_COLOR"}
        environment |= {"COLUMNS": "100", "PYTHONUTF8": "1", "PYTHONPATH": str(project or "")}
        return subprocess.run(
            [str(programs / words[0]), *words[1:]],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=LIMIT_S,
            check=False,
        )

    return run
