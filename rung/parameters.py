"""Declared parameters of games and agents: one declaration gives the default, the check and the documentation."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rung.errors import UserError, unknown

Value = int | float | str | bool


@dataclass(frozen=True)
class Parameter:
    """One setting. The type of the default is the type of the value."""

    name: str
    default: Value
    meaning: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def accepts(self) -> str:
        """What a value may be, in words."""
        if self.choices:
            return " or ".join(repr(choice) for choice in self.choices)
        if isinstance(self.default, bool):
            return "True or False"
        kind = {int: "a whole number", float: "a number", str: "text"}[type(self.default)]
        if self.low is not None and self.high is not None:
            return f"{kind} from {_bound(self.low)} to {_bound(self.high)}"
        if self.low is not None:
            return f"{kind} of at least {_bound(self.low)}"
        return kind

    def check(self, owner: str, value: object) -> Value:
        """The value in the parameter's type, or a `UserError` that says what would be right."""
        wanted = type(self.default)
        if wanted is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value) is not wanted or not self._within(value):
            raise UserError(f"{owner}: {self.name} must be {self.accepts}, not {value!r}.")
        assert isinstance(value, (int, float, str))
        return value

    def parse(self, owner: str, text: str) -> Value:
        """The value a person typed after `name=`."""
        value: object = text
        if isinstance(self.default, bool):
            value = {"true": True, "false": False}.get(text.lower(), text)
        elif isinstance(self.default, (int, float)):
            try:
                value = type(self.default)(text)
            except ValueError:
                value = text
        return self.check(owner, value)

    def _within(self, value: object) -> bool:
        if self.choices:
            return value in self.choices
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return (
                value == value  # not NaN
                and (self.low is None or value >= self.low)
                and (self.high is None or value <= self.high)
            )
        return True


def _bound(number: float) -> str:
    return f"{int(number):,}" if number == int(number) else f"{number:g}"


def complete(owner: str, declared: Sequence[Parameter], given: Mapping[str, object]) -> dict[str, Value]:
    """Every declared parameter with its given or default value; unknown names and bad values are user errors."""
    by_name = {parameter.name: parameter for parameter in declared}
    for name in given:
        if name not in by_name:
            raise unknown(f"parameter of {owner}", name, by_name)
    return {p.name: p.check(owner, given[p.name]) if p.name in given else p.default for p in declared}


def parse_settings(owner: str, declared: Sequence[Parameter], settings: Sequence[str]) -> dict[str, Value]:
    """`["size=7", …]` as typed on the command line, checked against the declarations."""
    by_name = {parameter.name: parameter for parameter in declared}
    values: dict[str, Value] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise UserError(f"--set takes NAME=VALUE, not {setting!r}.")
        if name not in by_name:
            raise unknown(f"parameter of {owner}", name, by_name)
        if name in values:
            raise UserError(f"--set gives {name} twice.")
        values[name] = by_name[name].parse(owner, text)
    return values


def call_text(name: str, values: Mapping[str, Value], declared: Sequence[Parameter]) -> str:
    """`name(size=7)`: the shortest call that means these values."""
    shown = [f"{p.name}={values[p.name]!r}" for p in declared if values[p.name] != p.default]
    return f"{name}({', '.join(shown)})" if shown else name


def parse_call(text: str, what: str) -> tuple[str, dict[str, Value]]:
    """`name` or `name(key=value, …)` with plain constants, as its parts; nothing in it is ever evaluated."""
    right = (
        f"{what} is written like name or name(parameter=value), each parameter once, "
        f"its value a number, a text in quotes, True or False; not {text!r}."
    )
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise UserError(right) from None
    if isinstance(tree, ast.Name):
        return tree.id, {}
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name) or tree.args:
        raise UserError(right)
    values: dict[str, Value] = {}
    for keyword in tree.keywords:
        try:
            value = ast.literal_eval(keyword.value)
        except (ValueError, TypeError, MemoryError, RecursionError):
            value = None
        if keyword.arg is None or keyword.arg in values or not isinstance(value, (int, float, str)):
            raise UserError(right)
        values[keyword.arg] = value
    return tree.func.id, values
