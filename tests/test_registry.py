"""Names to things: lazily, without two of one name, and with those of other packages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rung.errors import UserError
from rung.registry import Registry
from tests.conftest import write_package


def test_listing_imports_nothing() -> None:
    registry: Registry[object] = Registry("toy", {"broken": "no_such_module:Thing", "sound": "wave:open"})
    sys.modules.pop("wave", None)
    assert registry.names() == ["broken", "sound"]
    assert "wave" not in sys.modules
    assert registry.load("sound") is sys.modules["wave"].open


@pytest.mark.parametrize("target", ["no_such_module:Thing", "math:no_such_thing"])
def test_what_cannot_be_loaded_says_so(target: str) -> None:
    with pytest.raises(UserError, match=r"The toy broken .* cannot be loaded"):
        Registry("toy", {"broken": target}).load("broken")


def test_two_of_one_name_raise() -> None:
    registry: Registry[object] = Registry("toy", {"pi": "math:pi"})
    registry.register("pi", "math:pi")
    with pytest.raises(UserError, match="Two toys are called 'pi'"):
        registry.register("pi", "cmath:pi")


def test_an_unknown_name_is_told_the_nearest_and_all() -> None:
    registry: Registry[object] = Registry("toy", {"robot": "math:pi", "ball": "math:e"})
    with pytest.raises(UserError, match=r"no toy called 'robt'. Did you mean robot\? Known: ball, robot"):
        registry.load("robt")


def test_other_packages_add_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_package(tmp_path, {"outsider_toys.py": "DOLL = 'a doll'\n"}, {"rung.toys": {"doll": "outsider_toys:DOLL"}})
    monkeypatch.syspath_prepend(tmp_path)
    registry: Registry[str] = Registry("toy", {"pi": "math:pi"})
    assert registry.names() == ["doll", "pi"]
    assert registry.load("doll") == "a doll"


def test_another_package_cannot_replace_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_package(tmp_path, {}, {"rung.toys": {"pi": "cmath:pi"}})
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match="Two toys are called 'pi'"):
        Registry("toy", {"pi": "math:pi"}).names()
