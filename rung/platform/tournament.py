"""Tournament files: a field of agents, a game, how to pair and when to stop, as TOML."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rung.errors import UserError, unknown
from rung.platform.match import Clock
from rung.platform.rules import Limits, Rules
from rung.scheduler.separation import ALPHA, MARGIN_ELO

T = TypeVar("T")

_TABLES: dict[str, tuple[str, ...]] = {
    "": ("name", "game", "seed", "agents", "match", "pairing", "stop"),
    "match": ("paired", "clock"),
    "pairing": ("rule", "alpha", "margin", "costs"),
    "stop": ("settled", "top", "pair", "matches", "time", "cost"),
    "agents": ("spec", "name"),
}
_UNITS_S = {"s": 1, "min": 60, "h": 3600, "d": 86400}
_NAME = re.compile(r"[\w][\w .+-]{0,63}")


@dataclass(frozen=True)
class Entry:
    """An agent of the field."""

    name: str
    spec: str


@dataclass(frozen=True)
class Tournament:
    """What a file says."""

    name: str
    game: str
    """As a call, in its shortest form."""
    agents: tuple[Entry, ...]
    rules: Rules


def load(file: Path) -> Tournament:
    """The tournament in a file; a `UserError` says which line is wrong, and what would be right."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UserError(f"The tournament file {file} cannot be read: {reason}.") from error
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{file} is not TOML: {error}.") from error
    return _Reader(file, text, document).tournament()


class _Reader:
    """One file being read. Every complaint names its line."""

    def __init__(self, file: Path, text: str, document: Mapping[str, Any]) -> None:
        self.file, self.lines, self.document = file, text.splitlines(), document

    def tournament(self) -> Tournament:
        self._keys("", self.document)
        for table in ("match", "pairing", "stop"):
            self._keys(table, self._table(table))
        game = self._game()
        agents = self._agents(game.seats)
        match, pairing = self._table("match"), self._table("pairing")
        return Tournament(
            name=self._check("", "name", self._text("name", self.file.stem), _checked_name),
            game=game.spec,
            agents=agents,
            rules=Rules(
                seed=self._number("", "seed", self.document, 1, whole=True),
                paired=self._flag("match", "paired", match, default=True),
                clock=self._check("match", "clock", match.get("clock"), _clock),
                rule=self._check("pairing", "rule", pairing.get("rule", "gain"), _rule),
                alpha=self._number("pairing", "alpha", pairing, ALPHA, below=1.0),
                margin_elo=self._number("pairing", "margin", pairing, MARGIN_ELO, least=0.0),
                costs=self._flag("pairing", "costs", pairing, default=False),
                limits=self._limits(agents),
            ),
        )

    def _game(self) -> Any:
        from rung.platform.match import game_of

        if "game" not in self.document:
            raise UserError(f'{self.file}: the key game is missing, as in game = "connect_four".')
        return self._check("", "game", self._text("game", ""), game_of)

    def _agents(self, seats: int) -> tuple[Entry, ...]:
        listed = self.document.get("agents", [])
        if not isinstance(listed, list):
            raise self._wrong("", "agents", "agents must be a list of specs, or of tables with spec and name")
        entries = tuple(self._entry(item) for item in listed)
        if len(entries) < max(2, seats):
            raise self._wrong("", "agents", f"a tournament of this game needs at least {max(2, seats)} agents")
        names = [entry.name for entry in entries]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise self._wrong("", "agents", f"two agents are called {twice!r}; give them names of their own")
        return entries

    def _entry(self, item: Any) -> Entry:
        from rung.agents.spec import normal

        if isinstance(item, str):
            item = {"spec": item}
        if not isinstance(item, dict) or not isinstance(item.get("spec"), str):
            raise self._wrong("", "agents", 'an agent is a spec like "mcts", or a table with spec and name')
        self._keys("agents", item)
        spec = self._check("agents", item["spec"], item["spec"], normal)
        name = item.get("name", spec)
        return Entry(self._check("agents", str(name), name, _checked_name) if "name" in item else spec, spec)

    def _limits(self, agents: Sequence[Entry]) -> Limits:
        stop = self._table("stop")
        if not stop:
            return Limits(settled=1.0)
        pair = stop.get("pair")
        names = [entry.name for entry in agents]
        if pair is not None:
            if not isinstance(pair, list) or len(pair) != 2 or len(set(map(str, pair))) != 2:
                raise self._wrong("stop", "pair", 'pair must name two different agents, as in pair = ["mcts", "osla"]')
            for name in pair:
                if name not in names:
                    raise self._wrong("stop", "pair", str(unknown("agent", str(name), names)).rstrip("."))
        top = self._number("stop", "top", stop, None, least=1, whole=True)
        if top is not None and top > len(agents):
            raise self._wrong("stop", "top", f"the best {top} cannot be settled among {len(agents)} agents")
        return Limits(
            settled=self._number("stop", "settled", stop, None, most=1.0),
            top=top,
            pair=(pair[0], pair[1]) if pair else None,
            matches=self._number("stop", "matches", stop, None, least=1, whole=True),
            time_s=self._check("stop", "time", stop.get("time"), _duration),
            cost_s=self._check("stop", "cost", stop.get("cost"), _duration),
        )

    # -- values ------------------------------------------------------------------------------------------------------

    def _table(self, name: str) -> Mapping[str, Any]:
        table = self.document.get(name, {})
        if not isinstance(table, dict):
            raise self._wrong("", name, f"{name} is a table, written [{name}]")
        return table

    def _keys(self, table: str, given: Mapping[str, Any]) -> None:
        for key in given:
            if key not in _TABLES[table]:
                what = f"key of [{table}]" if table else "key of a tournament"
                raise self._wrong(table, key, str(unknown(what, key, _TABLES[table])).rstrip("."))

    def _text(self, key: str, default: str) -> str:
        value = self.document.get(key, default)
        if not isinstance(value, str):
            raise self._wrong("", key, f"{key} must be text in quotes, not {value!r}")
        return value

    def _flag(self, table: str, key: str, given: Mapping[str, Any], default: bool) -> bool:
        value = given.get(key, default)
        if not isinstance(value, bool):
            raise self._wrong(table, key, f"{key} must be true or false, not {value!r}")
        return value

    def _number(
        self,
        table: str,
        key: str,
        given: Mapping[str, Any],
        default: Any,
        *,
        least: float | None = None,
        most: float | None = None,
        below: float | None = None,
        whole: bool = False,
    ) -> Any:
        """A number that is above 0 unless `least` says otherwise."""
        if key not in given:
            return default
        value = given[key]
        kind = int if whole else (int, float)
        right = isinstance(value, kind) and not isinstance(value, bool)
        if key == "seed":
            least = 0
        right = right and (value >= least if least is not None else value > 0)
        right = right and (most is None or value <= most) and (below is None or value < below) and value < float("inf")
        if right:
            return value
        bounds = [f"at least {least:g}" if least is not None else "above 0"]
        bounds += [f"at most {most:g}"] if most is not None else [f"below {below:g}"] if below is not None else []
        noun = "a whole number" if whole else "a number"
        raise self._wrong(table, key, f"{key} must be {noun} {' and '.join(bounds)}, not {value!r}")

    def _check(self, table: str, key: str, value: Any, check: Callable[[Any], T]) -> T:
        try:
            return check(value)
        except UserError as error:
            raise self._wrong(table, key, str(error).rstrip(".")) from None

    def _wrong(self, table: str, key: str, complaint: str) -> UserError:
        return UserError(f"{self.file}, line {self._line(table, key)}: {complaint}.")

    def _line(self, table: str, key: str) -> int:
        """Where a key stands; for a text of the agents, where that text does."""
        now = ""
        for number, line in enumerate(self.lines, start=1):
            if heading := re.match(r"\s*\[+\s*([\w-]+)", line):
                now = heading[1]
            elif (now == table and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line)) or (
                table == "agents" and key in line
            ):
                return number
            if now == key and not table:
                return number
        return 1


def _checked_name(value: Any) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise UserError(f"a name is 1 to 64 letters, digits, spaces or . + - _, not {value!r}")
    return value


def _clock(value: Any) -> Clock | None:
    from rung.platform.series import parse_clock

    if value is None:
        return None
    return parse_clock(str(value))


def _rule(value: Any) -> str:
    from rung.scheduler.pairing import RULES

    if value not in RULES:
        raise unknown("pairing rule", str(value), RULES)
    return str(value)


def _duration(value: Any) -> float | None:
    """`90`, "90 s", "5 min", "2h", "1 d": seconds."""
    if value is None:
        return None
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h|d)?\s*", str(value))
    if isinstance(value, bool) or not found or float(found[1]) == 0:
        raise UserError(f'a duration is written like 90, "90 s", "5 min", "2 h" or "1 d", not {value!r}')
    return float(found[1]) * _UNITS_S[found[2] or "s"]
