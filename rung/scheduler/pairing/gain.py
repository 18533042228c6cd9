"""The rule that asks what a match would say about who is better.

Every unsettled pair of agents (i, j) has a difference, known with variance v, and a variance at which it would be settled.
A match of a and b with information h lowers v by h cov(a - b, i - j)² / (1 + h var(a - b)), whoever wins. The rule takes the
match that lowers most the sum over unsettled pairs of

    weight(i, j) v(i, j),  with weight = 1/v · (v when settled / v now)

per second of its cost: 1/v makes it the relative decrease, and the second factor puts pairs that will be settled soon before
those that will take long. The sum over all pairs is a quadratic form in a - b, so one matrix has the gain of every match.
After each choice the covariance and that matrix are moved on as if the match had been played, so that matches are chosen
together; those in flight are taken into account in the same way. In a large pool the matrix is known by random projections,
and a choice only lowers what matches with the same agents would still say.

Pairs that are settled, separated or practically equal, have no weight and are not played. Which side a rating errs on does
not decide what is played, only what is settled does: so this rule does not bend the evidence it collects.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rung.jit import entry, jit
from rung.scheduler.bradley_terry import ELO
from rung.scheduler.cholesky import one_thread
from rung.scheduler.comparisons import Ints, Reals
from rung.scheduler.evidence import expected_scores
from rung.scheduler.pairing.lineups import ALL_PAIRS_UP_TO, candidates, seat_more
from rung.scheduler.pairing.snapshot import Pick, Snapshot

EXPLORATION = 0.05
"""Share of matches in which a random agent meets a random one of those it is not settled from, so that nobody waits for ever
because others are cheaper to settle."""
DIMENSIONS = 32
"""Of the projection that stands for the matrix in a large pool."""
_SLACK = 2.0
"""Evidence, as a logarithm, beyond what is needed: the price of not knowing the difference beforehand."""
_TIE = 1e-6
"""Gains that differ by less, relatively, are equal, and it is drawn who comes first."""


class Field(NamedTuple):
    """The unsettled pairs, and what a match of each would say."""

    first: Ints
    second: Ints
    information: Reals
    """Of one match, weighed as it will be among its match's pairs."""
    variance: Reals
    """Of the difference."""
    covariance: Reals
    """Of all agents; empty in a large pool."""
    points: Reals
    """A point for each agent: gains are squared distances times information. In a small pool it is instead the matrix C L C,
    with C the covariance and L the Laplacian of the pairs' weights."""
    apart: Reals
    """In a large pool, the squared distance of each pair."""


def field_of(snapshot: Snapshot) -> Field:
    """All that does not depend on what is in flight; made once for a snapshot."""
    source = np.random.Generator(np.random.PCG64(snapshot.played))
    first, second, count = candidates(snapshot, source)
    variance = snapshot.variance(first, second)
    unsettled = snapshot.unsettled(first, second, variance)
    first, second, count, variance = first[unsettled], second[unsettled], count[unsettled], variance[unsettled]
    difference = np.abs(snapshot.evidence.pooled.theta[first] - snapshot.evidence.pooled.theta[second])
    distance = np.maximum(difference, snapshot.margin_elo * ELO - difference)
    # The square that is expected, not that of the estimate: new agents all look equal, and would be left for last.
    enough = (distance**2 + variance) / (2 * (snapshot.needed + _SLACK))
    weight = count / variance * np.minimum(1.0, enough / variance)
    information = _information(snapshot, first, second)
    made = Field(first, second, information, variance, np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0))
    if len(snapshot.active) <= ALL_PAIRS_UP_TO and snapshot.separation is not None:
        covariance = snapshot.evidence.pooled.covariance
        laplacian = np.zeros_like(covariance)
        _add_laplacian(laplacian, first, second, weight)
        with one_thread():
            return made._replace(covariance=covariance, points=covariance @ laplacian @ covariance)
    right = np.zeros((snapshot.agents, DIMENSIONS))
    signs = source.integers(0, 2, size=(len(first), DIMENSIONS))
    _add_signed(right, first, second, np.sqrt(weight / DIMENSIONS), signs)
    points = snapshot.evidence.pooled.information.solve_columns(right)
    return made._replace(points=points, apart=_squared_distances(points, first, second))


def gain(snapshot: Snapshot, k: int, source: np.random.Generator) -> list[Pick]:
    """The matches that say most about who is better, per second."""
    field = snapshot.gain_field
    if not len(field.first):
        return []
    explored = _explore(field, int(source.binomial(k, EXPLORATION)), source)
    flying = np.concatenate([np.stack(snapshot.pairs_in_flight, axis=1), explored])
    flying_information = _information(snapshot, *flying.T)
    cost = snapshot.cost_s[field.first] + snapshot.cost_s[field.second]
    price = (1 + _TIE * source.random(len(cost))) / cost
    chosen = np.zeros(k - len(explored), dtype=np.int64)
    value = np.zeros(len(chosen))
    small = len(field.covariance) > 0
    covariance, matrix, more = field.covariance.copy(), field.points.copy(), np.zeros(snapshot.agents)
    if small:
        _choose(covariance, matrix, field, price, flying, flying_information, chosen, value)
    else:
        _choose_among_many(field, price, flying, flying_information, more, chosen, value)
    pairs = np.concatenate([np.stack([field.first[chosen], field.second[chosen]], axis=1), explored])

    def wanted(one: Ints, other: Ints) -> Reals:
        if small:
            apart = matrix[one, one] + matrix[other, other] - 2 * matrix[one, other]
        else:
            apart = ((field.points[one] - field.points[other]) ** 2).sum(axis=1)
            apart /= (1 + (more[one] + more[other]) * snapshot.variance(one, other)) ** 2
        return np.asarray(apart * _information(snapshot, one, other) / snapshot.cost_s[one])

    def seated(line: Ints) -> None:
        """The pairs of a line-up that were not chosen as such."""
        left, right = np.triu_indices(len(line), 1)
        others = np.stack([line[left], line[right]], axis=1)[1:]
        information = _information(snapshot, *others.T)
        if small:
            _choose(covariance, matrix, field, price, others, information, chosen[:0], value[:0])
        else:
            np.add.at(more, others, information[:, None] / 2)

    whys = ["gain"] * len(chosen) + ["exploration"] * len(explored)
    values = np.concatenate([value, np.zeros(len(explored))])
    return snapshot.picks(seat_more(snapshot, pairs, wanted, source, seated), whys, values, fair=True)


def _explore(field: Field, k: int, source: np.random.Generator) -> Ints:
    """Random agents of those not settled, each with a random one of those it is not settled from."""
    agents, pairs = np.unique(np.concatenate([field.first, field.second])), []
    for own in agents[source.integers(len(agents), size=k)].tolist():
        others = np.concatenate([field.second[field.first == own], field.first[field.second == own]])
        pairs.append((own, int(others[source.integers(len(others))])))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _information(snapshot: Snapshot, first: Ints, second: Ints) -> Reals:
    """Of one match between each of these pairs, weighed as it will be among its match's pairs."""
    theta = snapshot.evidence.pooled.theta
    share = expected_scores(theta[first] - theta[second])
    return np.asarray(share * (1 - share) / snapshot.evidence.pooled.dispersion / (snapshot.seats - 1))


# -- compiled --------------------------------------------------------------------------------------------------------


@entry
def _add_laplacian(matrix: Reals, first: Ints, second: Ints, weight: Reals) -> None:
    for e in range(len(first)):
        i, j, w = first[e], second[e], weight[e]
        matrix[i, i] += w
        matrix[j, j] += w
        matrix[i, j] -= w
        matrix[j, i] -= w


@entry
def _add_signed(right: Reals, first: Ints, second: Ints, size: Reals, signs: Ints) -> None:
    for e in range(len(first)):
        for c in range(right.shape[1]):
            step = size[e] if signs[e, c] else -size[e]
            right[first[e], c] += step
            right[second[e], c] -= step


@entry
def _squared_distances(points: Reals, first: Ints, second: Ints) -> Reals:
    found = np.zeros(len(first))
    for e in range(len(first)):
        for c in range(points.shape[1]):
            found[e] += (points[first[e], c] - points[second[e], c]) ** 2
    return found


@entry
def _choose(
    covariance: Reals,
    matrix: Reals,
    field: Field,
    price: Reals,
    flying: Ints,
    flying_information: Reals,
    chosen: Ints,
    value: Reals,
) -> None:
    """The best match, as if those in flight had been played; then the best as if that had, and so on."""
    for f in range(len(flying)):
        _play(covariance, matrix, flying[f, 0], flying[f, 1], flying_information[f])
    for at in range(len(chosen)):
        best = -1.0
        for e in range(len(field.first)):
            i, j, h = field.first[e], field.second[e], field.information[e]
            apart = matrix[i, i] + matrix[j, j] - 2 * matrix[i, j]
            variance = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
            worth = h * apart / (1 + h * variance) * price[e]
            if worth > best:
                best, chosen[at], value[at] = worth, e, worth
        e = chosen[at]
        _play(covariance, matrix, field.first[e], field.second[e], field.information[e])


@jit
def _play(covariance: Reals, matrix: Reals, a: int, b: int, information: float) -> None:
    """Move both on as if a and b had met: C' = C - s u u' with u = C (a - b), and C' L C' accordingly."""
    n = len(covariance)
    u, y = np.empty(n), np.empty(n)
    for i in range(n):
        u[i] = covariance[i, a] - covariance[i, b]
        y[i] = matrix[i, a] - matrix[i, b]
    s = information / (1 + information * (u[a] - u[b]))
    inner = y[a] - y[b]
    for i in range(n):
        for j in range(n):
            covariance[i, j] -= s * u[i] * u[j]
            matrix[i, j] += s * s * inner * u[i] * u[j] - s * (u[i] * y[j] + y[i] * u[j])


@entry
def _choose_among_many(
    field: Field,
    price: Reals,
    flying: Ints,
    flying_information: Reals,
    more: Reals,
    chosen: Ints,
    value: Reals,
) -> None:
    """Greedily, with a heap of what each match was last worth: a choice only lowers that of others, so a match that is still
    the best when it is weighed again is the best. `more` is what each agent's chosen matches say, added up."""
    for f in range(len(flying)):
        for side in range(2):
            more[flying[f, side]] += flying_information[f] / 2
    pairs = len(field.first)
    full, worth = np.empty(pairs), np.empty(pairs)
    for e in range(pairs):
        h = field.information[e]
        full[e] = h * field.apart[e] / (1 + h * field.variance[e]) * price[e]
        worth[e] = _left(full[e], field, more, e)
    heap = np.arange(pairs)
    for place in range(pairs // 2 - 1, -1, -1):
        _sink(heap, worth, place)
    for at in range(len(chosen)):
        while True:
            e = heap[0]
            now = _left(full[e], field, more, e)
            if now >= worth[e] * (1 - 1e-12):
                break
            worth[e] = now
            _sink(heap, worth, 0)
        chosen[at], value[at] = e, now
        more[field.first[e]] += field.information[e] / 2
        more[field.second[e]] += field.information[e] / 2


@jit
def _left(full: float, field: Field, more: Reals, e: int) -> float:
    """What a match still says when its agents have played others: as for a repeated match, half for each agent."""
    return full / (1 + (more[field.first[e]] + more[field.second[e]]) * field.variance[e]) ** 2


@jit
def _sink(heap: Ints, worth: Reals, at: int) -> None:
    """Put what stands at this place of the heap where it belongs below."""
    e = heap[at]
    while True:
        child = 2 * at + 1
        if child >= len(heap):
            break
        if child + 1 < len(heap) and worth[heap[child + 1]] > worth[heap[child]]:
            child += 1
        if worth[heap[child]] <= worth[e]:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = e
