"""Recordings: what is written is read back, files are whole or absent, and damage is named."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace as with_ending
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rung.errors import UserError
from rung.platform.cli.show import ending_text
from rung.platform.match import Clock, Forfeit, MatchResult, MatchSpec, Played, Void, game_of, play
from rung.platform.recording import as_document, check_writable, from_document, read, write
from rung.platform.replay import replay

NUMBERS = st.floats(0, 1)
ENDINGS = st.one_of(
    st.just(Played()),
    st.builds(Forfeit, st.integers(0, 1), st.sampled_from(["crash", "time", "memory", "illegal action"]), st.text()),
    st.builds(Void, st.text()),
)
RESULTS = st.builds(
    MatchResult,
    spec=st.builds(
        MatchSpec,
        st.just("hex"),
        st.tuples(st.text(), st.text()),
        st.integers(0, 2**63 - 1),
        st.integers(0, 2**63 - 1),
        st.none() | st.builds(Clock, NUMBERS, NUMBERS),
    ),
    version=st.integers(1, 9),
    ending=ENDINGS,
    payoffs=st.tuples(NUMBERS, NUMBERS),
    scores=st.tuples(NUMBERS, NUMBERS),
    ranks=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    moves=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=9).map(tuple),
    think_s=st.lists(st.integers(0, 10**9).map(lambda us: round(us / 1e6, 6)), max_size=9).map(tuple),
)


def a_match(game: str = "connect_four", seed: int = 1) -> MatchResult:
    return play(MatchSpec(game, ("random",) * game_of(game).seats, seed, seed))


@given(RESULTS)
def test_a_result_survives_json(result: MatchResult) -> None:
    assert from_document(json.loads(json.dumps(as_document(result)))) == result


@pytest.mark.parametrize("game", ["connect_four", "rpg_battle", "sushi_go", "sum_of_switches", "rock_paper_scissors"])
def test_a_file_of_matches_is_read_back_and_replayed(game: str, tmp_path: Path) -> None:
    played = [from_document(as_document(a_match(game, seed))) for seed in range(3)]
    file = tmp_path / "matches.jsonl"
    write(file, played)
    assert list(read(file)) == played
    for result in played:
        steps = list(replay(result, "a match"))
        assert tuple(step.action for step in steps[:-1]) == result.moves
        assert steps[-1].state.over


def broken_after_one() -> Iterator[MatchResult]:
    yield a_match()
    raise KeyboardInterrupt


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "matches.jsonl"
    with pytest.raises(KeyboardInterrupt):
        write(file, broken_after_one())
    assert list(tmp_path.iterdir()) == []
    write(file, [a_match()])
    before = file.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        write(file, broken_after_one())
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_stays_and_what_it_points_to_is_written(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("matches.jsonl")
    check_writable(link)
    write(link, [a_match()])
    assert link.is_symlink()
    assert len(list(read(tmp_path / "matches.jsonl"))) == 1


def test_a_place_that_cannot_be_written_is_named_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "no_such_folder" / "file", tmp_path / ("long" * 64), tmp_path / "pipe"):
        with pytest.raises(UserError, match="cannot be written: name a file in a folder that exists"):
            check_writable(path)
    check_writable(tmp_path / "file")
    assert [file.name for file in tmp_path.iterdir()] == ["pipe"]
    with pytest.raises(UserError, match="cannot be written: No such file"):
        write(tmp_path / "no_such_folder" / "file", [a_match()])


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "line 1: this is not a match"),
        (b"\xff\xfe\x00", "it is not text"),
        (b"hello\n", "line 1: this is not a match"),
        (b"{}\n", "is not a file of matches"),
        (b'{"rung":"matches","format":2}\n', "is not a file of matches"),
        (b'{"rung":"matches","format":1}\n{}\n', "line 2: this is not a match"),
        (b'{"rung":"matches","format":1}\n[]\n', "line 2: this is not a match"),
        (b'{"rung":"matches","format":1}\nnull\n', "line 2: this is not a match"),
        (b'{"rung":"matches","format":1}\n{"spec":\n', "line 2: this is not a match"),
        (b'{"rung":"matches","format":1}\n' + b"[" * 100_000 + b"\n", "line 2: this is not a match"),
    ],
)
def test_what_is_no_recording_is_named_with_its_line(content: bytes, complaint: str, tmp_path: Path) -> None:
    file = tmp_path / "matches.jsonl"
    file.write_bytes(content)
    with pytest.raises(UserError, match=complaint):
        list(read(file))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file"):
        list(read(tmp_path / "nothing"))


ALONE = {"spec": {"game": "connect_four", "agents": ["x"], "deal": 1, "seed": 1, "clock": None}} | {
    name: [1] for name in ("payoffs", "scores", "ranks")
}


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to every value of a document, two values of each list."""
    inner = document.items() if isinstance(document, dict) else enumerate(document[:2])
    for key, value in inner:
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from places(value, (*path, key))


ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    1.5,
    10**400,
    "x",
    "",
    [],
    {},
    [1],
    ["x"],
    [None, None],
    [[1], [2]],
    float("nan"),
)


def shown_in_full(file: Path) -> bool:
    """Whether all is well with the file; nothing but a user error may come of one that is damaged."""
    try:
        for result in read(file):
            *_, _ = replay(result, "a match")
            ending_text(game_of(result.spec.game), result)
    except UserError:
        return False
    return True


@pytest.mark.parametrize("ending", [Played(), Forfeit(0, "crash", "")])
def test_no_wrong_value_anywhere_is_more_than_a_sentence(ending: Played | Forfeit, tmp_path: Path) -> None:
    file = tmp_path / "matches.jsonl"
    sound = json.dumps(as_document(with_ending(a_match(), ending=ending)))
    refused = 0
    for path in places(json.loads(sound)):
        for odd in ODD_VALUES:
            document = json.loads(sound)
            holder = document
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = odd
            file.write_text('{"rung":"matches","format":1}\n' + json.dumps(document) + "\n")
            refused += not shown_in_full(file)
    assert refused > 200


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"moves": [0, 99]}, r"move 2 \(99\) is not legal"),
        ({"moves": [0, "x"]}, r"move 2 \('x'\) is not legal"),
        ({"moves": [0, 10**40]}, "move 2 .* is not legal"),
        ({"moves": [0, True]}, "move 2 .* is not legal"),
        ({"moves": [0, 1]}, "do not lead to the recorded result"),
        ({"payoffs": [0.5, 0.5], "scores": [0.5, 0.5]}, "do not lead to the recorded result"),
        ({"ranks": [1, 1]}, "do not lead to the recorded result"),
        ({"ending": {"kind": "void", "detail": ""}}, "do not lead to the recorded result"),
        ({"version": 99}, "played by version 99"),
        (ALONE, "connect_four seats 2, and 1 are named in it"),
    ],
)
def test_a_damaged_match_is_not_shown_as_if_it_were_sound(change: dict[str, Any], complaint: str) -> None:
    result = from_document({**as_document(a_match()), **change})
    with pytest.raises(UserError, match=complaint):
        list(replay(result, "a match"))
