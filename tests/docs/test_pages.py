"""The pages are complete and true: what there is stands on them, what stands on them is there, and commands run."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import typer

from rung.games import GAMES
from rung.parameters import Parameter
from rung.platform.cli import INTERRUPTED, USER_ERROR, app
from rung.platform.cli.play import WORKER_DIED
from rung.platform.match import Reason

Blocks = Callable[[str, str], list[str]]
Install = Callable[..., Path]
Run = Callable[..., subprocess.CompletedProcess[str]]

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    str(page.relative_to(ROOT)) for page in [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
)
SHELL = (ROOT / "docs/shell.md").read_text()
FIRST_PAGE = (ROOT / "docs/0-README.md").read_text()
COMMANDS: dict[str, Any] = vars(typer.main.get_command(app))["commands"]
SECTIONS = {
    "games": "rung games and rung agents",
    "agents": "rung games and rung agents",
    "play": "rung play",
    "replay": "rung replay",
    "simulate": "rung simulate",
    "tournament": "rung tournament",
    "ladders": "rung ladders, rank and verify",
    "rank": "rung ladders, rank and verify",
    "verify": "rung ladders, rank and verify",
}
OUR_GAMES = [name for name in GAMES.names() if GAMES.load(name).__module__.startswith("rung.")]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
VARYING = re.compile(r"[\d,]+ moves/s")


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def section(text: str, heading: str) -> str:
    """What stands under a heading of the second level, up to the next."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"no section {heading}"
    return found[1]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", without_code(page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def rows(text: str) -> list[list[str]]:
    """The tables' rows, as their cells without backticks."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip().replace("`", "") for cell in line.strip("|").split(" | ")] for line in lines]


# -- links and lists -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    broken = []
    for target in LINK.findall(without_code((ROOT / page).read_text())):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert not broken


@pytest.mark.parametrize("page", [page for page in PAGES if page != "docs/0-README.md"])
def test_first_page_lists_every_page(page: str) -> None:
    linked = {(ROOT / "docs" / target.partition("#")[0]).resolve() for target in LINK.findall(FIRST_PAGE)}
    assert ROOT / page in linked


def test_module_map() -> None:
    there = {str(file.relative_to(ROOT)) for file in (ROOT / "rung").rglob("*.py")}
    listed = [row[0] for row in rows(section(FIRST_PAGE, "Module map")) if row[0].startswith("rung/")]
    folders = tuple(row for row in listed if row.endswith("/"))
    assert sorted(row for row in listed if row not in folders) == sorted(f for f in there if not f.startswith(folders))
    assert all((ROOT / folder).is_dir() for folder in folders)


# -- the shell -------------------------------------------------------------------------------------------------------


def options_of(command: Any) -> list[Any]:
    return [parameter for parameter in command.params if parameter.param_type_name == "option"]


def test_every_command_has_a_section() -> None:
    assert set(SECTIONS) == set(COMMANDS)
    for name, heading in SECTIONS.items():
        assert f"rung {name}" in section(SHELL, heading) + heading


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained_with_its_default(name: str) -> None:
    table = [row for row in rows(section(SHELL, SECTIONS[name])) if row[0].startswith("--")]
    for option in options_of(COMMANDS[name]):
        found = [row for row in table if set(option.opts) & set(re.findall(r"--[\w-]+", row[0]))]
        assert len(found) == 1, option.opts
        assert set(re.findall(r"--[\w-]+", found[0][0])) == {*option.opts, *option.secondary_opts}
        if type(option.default) is int:
            assert found[0][1] == str(option.default)


def test_options_of_rung_itself() -> None:
    root = typer.main.get_command(app)
    named = {opt for parameter in vars(root)["params"] for opt in parameter.opts} | {"--help", "-h"}
    beginning = SHELL.partition("\n## ")[0]
    assert named == set(re.findall(r"(?<!\w)--?[a-z][\w-]*", " ".join(row[0] for row in rows(beginning))))


def test_only_real_options_are_named() -> None:
    known = {"--help"}
    for command in [typer.main.get_command(app), *COMMANDS.values()]:
        known |= {opt for p in vars(command)["params"] for opt in [*p.opts, *p.secondary_opts]}
    for page in ["README.md", "docs/shell.md", "docs/agents.md"]:
        spoken = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", re.sub(r"benchmarks/.*", "", (ROOT / page).read_text())))
        assert spoken <= known, page


def test_exit_codes() -> None:
    table = rows(section(SHELL, "Mistakes and exit codes"))
    listed = {int(row[0]) for row in table if row[0].isdigit()}
    assert listed == {0, USER_ERROR, INTERRUPTED, WORKER_DIED}


def test_reasons_of_forfeits() -> None:
    named = re.search(r"reasons for a forfeit are (.*?)\.", SHELL, re.DOTALL)
    assert named
    assert sorted(re.findall(r"`(.*?)`", named[1])) == sorted(get_args(Reason))


def test_every_column_is_explained(blocks: Blocks) -> None:
    heading = next(block for block in blocks("docs/shell.md", "console") if "mean rank" in block).splitlines()[1]
    columns = " ".join(heading.replace(" (95 % interval)", "").split())
    part = SHELL.partition("### The columns")[2].partition("###")[0]
    assert " ".join(row[0] for row in rows(part)[2:]) == columns


def test_every_field_of_the_documents_is_explained(run: Run, tmp_path: Path) -> None:
    words = ["play", "connect_four", "random", "first", "--matches", "2", "--clock", "5", "--json"]
    played = run(["rung", *words, "--out", "matches.jsonl"], tmp_path)
    assert played.returncode == 0, played.stderr
    described = run(["rung", "games", "hex", "--json"], tmp_path)
    heading = (tmp_path / "matches.jsonl").read_text().splitlines()[0]
    assert f"`{heading}`" in SHELL
    names = keys(json.loads(played.stdout)) | keys(json.loads(described.stdout))
    assert not sorted(name for name in names if f"`{name}`" not in SHELL)


def keys(document: object) -> set[str]:
    if isinstance(document, dict):
        return set(document) | {name for value in document.values() for name in keys(value)}
    if isinstance(document, list):
        return {name for value in document for name in keys(value)}
    return set()


# -- games -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OUR_GAMES)
def test_page_of_a_game_lists_its_parameters(name: str) -> None:
    part = section((ROOT / f"docs/games/{name}.md").read_text(), "Parameters")
    listed = [(row[0], row[1]) for row in rows(part)[2:]]
    assert listed == [(p.name, written(p)) for p in GAMES.load(name).parameters]


def written(parameter: Parameter) -> str:
    return f'"{parameter.default}"' if isinstance(parameter.default, str) else str(parameter.default)


@pytest.mark.parametrize("name", OUR_GAMES)
def test_rules_have_tests_of_their_own(name: str) -> None:
    assert (ROOT / f"tests/games/test_{name}.py").exists()


# -- commands --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_commands_run(page: str, blocks: Blocks, install: Install, run: Run, tmp_path: Path) -> None:
    """Each `rung` command of the page, in its order, in one folder."""
    lines = [line for block in blocks(page, "sh") for line in block.splitlines() if line.startswith("rung ")]
    project = install(page) if lines and blocks(page, "toml") else None
    (tmp_path / "cup.toml").write_text('game = "connect_four"\nagents = ["random", "first"]\n[stop]\nmatches = 20\n')
    for line in lines:
        done = run(shlex.split(line), tmp_path, project)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        assert done.stdout.strip(), line


@pytest.mark.parametrize("page", PAGES)
def test_shown_output_is_real(page: str, blocks: Blocks, install: Install, run: Run, tmp_path: Path) -> None:
    shown = "".join(blocks(page, "console"))
    project = install(page) if shown and blocks(page, "toml") else None
    for command, output in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", shown, re.MULTILINE):
        done = run(shlex.split(command), tmp_path, project)
        said = done.stdout if done.returncode == 0 else done.stderr
        assert tidy(said) == tidy(output), command


def tidy(output: str) -> list[str]:
    """Lines without what differs from run to run."""
    return [VARYING.sub("… moves/s", line.rstrip()) for line in output.rstrip().splitlines()]
