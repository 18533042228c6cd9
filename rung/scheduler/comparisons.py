"""What the scheduler knows of matches: who was compared with whom, and how that went.

A match of two agents is one comparison. A match of more is read as its pairs of opposing seats, each with weight
1 / (seats - 1), so that a seat's comparisons weigh one match together; team mates are not compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from rung.errors import UserError

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Comparisons:
    """Comparisons among agents 0 … `agents` - 1, as columns in the order of the log. Made by `compare`, which checks them."""

    agents: int
    first: Ints
    second: Ints
    score: Reals
    """Of the first agent: 1 for a win, 1/2 for a draw, 0 for a loss, or any share between."""
    weight: Reals
    """How many matches' worth this comparison is."""
    match: Ints
    """Rows of one match stand together and have one number; those numbers never fall."""
    fair: Flags
    """Whether the pair was chosen by a rule that results cannot bend, so that it may stand as evidence about other pairs."""

    def __len__(self) -> int:
        return len(self.first)


def compare(
    agents: int,
    first: npt.ArrayLike = (),
    second: npt.ArrayLike = (),
    score: npt.ArrayLike = (),
    weight: npt.ArrayLike | None = None,
    match: npt.ArrayLike | None = None,
    fair: npt.ArrayLike | None = None,
) -> Comparisons:
    """The comparisons, checked; a `UserError` names the first row that is wrong. Without `match`, each row is one match;
    without `fair`, all rows are."""
    firsts, seconds = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    scores = np.asarray(score, dtype=np.float64)
    rows = len(firsts)
    weights = np.ones(rows) if weight is None else np.asarray(weight, dtype=np.float64)
    matches = np.arange(rows) if match is None else np.asarray(match, dtype=np.int64)
    fairs = np.ones(rows, dtype=np.bool_) if fair is None else np.asarray(fair, dtype=np.bool_)
    if any(len(column) != rows for column in (seconds, scores, weights, matches, fairs)):
        raise UserError("Comparisons need as many first agents as second agents, scores, weights and matches.")
    made = Comparisons(agents, firsts, seconds, scores, weights, matches, fairs)
    _check(made)
    return made


def only(made: Comparisons, rows: Flags) -> Comparisons:
    """Some of the rows."""
    return Comparisons(made.agents, *(getattr(made, f.name)[rows] for f in fields(made) if f.name != "agents"))


def _check(made: Comparisons) -> None:
    for name, column in (("first", made.first), ("second", made.second)):
        _refuse(
            (column < 0) | (column >= made.agents), f"the {name} agent must be one of 0 to {made.agents - 1}", column
        )
    _refuse(made.first == made.second, "an agent cannot be compared with itself", made.first)
    _refuse(~((made.score >= 0) & (made.score <= 1)), "the score must be from 0 to 1", made.score)
    _refuse(~((made.weight > 0) & np.isfinite(made.weight)), "the weight must be above 0", made.weight)
    if len(made) > 1:
        _refuse(np.append(False, np.diff(made.match) < 0), "the match numbers must never fall", made.match)


def _refuse(wrong: npt.NDArray[np.bool_], rule: str, column: Ints | Reals) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        raise UserError(f"Comparison {row}: {rule}, not {column[row].item()}.")


def pairs_of_match(
    agents: Sequence[int], ranks: Sequence[int], teams: Sequence[int] | None = None
) -> list[tuple[int, int, float, float]]:
    """A match as its comparisons (first, second, score, weight), from the rank of each seat (1 is best)."""
    teams = range(len(agents)) if teams is None else teams
    rows = []
    for a in range(len(agents)):
        for b in range(a + 1, len(agents)):
            if teams[a] != teams[b] and agents[a] != agents[b]:
                score = 1.0 if ranks[a] < ranks[b] else 0.5 if ranks[a] == ranks[b] else 0.0
                rows.append((agents[a], agents[b], score, 1.0 / (len(agents) - 1)))
    return rows
