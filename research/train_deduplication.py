"""Train the score of whether two providers describe one event.

    python -m research.train_deduplication [--check]

It reads all labelled pairs except `fresh_2`, and adds pairs of unlike titles and pairs derived from
labels (two events stay two when further apart). It fits a logistic regression in which each feature
keeps its sign, chooses the threshold by cross-validation and writes `weights.json`. It is
deterministic. `--check` prints and does not write.
"""

import argparse
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from location_context.sections.events.deduplication import match_score
from location_context.sections.events.deduplication.match_score import MatchRecord, read_record
from location_context.sections.events.deduplication.titles import TokenWeights
from tests.sections.events.deduplication.labelled import pairs

# the pairs that may train, and how much one counts: near misses are rarer in the world than here
SETS = dict.fromkeys(
    ("former", "development", "later", "training", "held_out", "unseen", "fresh"), 1.0
) | {"near_misses": 0.1}
SEED, FOLDS, ROUNDS = 13, 10, 2
RIDGE = 0.1
UNLIKE_PAIRS, UNLIKE_WEIGHT = 1000, 0.05
FURTHER_WEIGHT, NEARER_WEIGHT, IDENTICAL_WEIGHT = 0.07, 0.2, 0.05
# of the cross-validation, and how much higher than for that the threshold is
MIN_PRECISION, MARGIN = 0.98, 0.14
# a feature that speaks for one event (1), for two (-1), or either (0)
SIGNS = {
    "equal": 1, "first_part": 1, "later_part": 0, "beginning": 0, "inside": 0, "homage": -1,
    "part_of_differing": 0, "series": 0, "both_differ": -1, "shared_names": 1,
    "letters": 1, "letters_across_scripts": 1, "same_teams": 1, "same_time": 1,
    "unknown_time": -1, "alias": 1,
    "same_area": -1, "unknown_place": -1,
}  # fmt: skip
NAMES = list(SIGNS)
FURTHER = (
    {"same_area": 1.0, "unknown_place": 0.0},
    {"unknown_place": 1.0, "same_area": 0.0},
    {"same_area": 0.0, "unknown_place": 0.0},
    {"unknown_time": 1.0, "same_time": 0.0},
    {"same_time": 0.0, "unknown_time": 0.0},
)
NEARER = {
    "same_area": 0.0, "unknown_place": 0.0, "same_time": 1.0, "unknown_time": 0.0
}  # fmt: skip
TARGET = Path(match_score.__file__).with_name("weights.json")
Floats = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="print, do not write")
    options = parser.parse_args()
    model = train()
    for name, value in [*model.weights.items(), ("bias", model.bias)]:
        print(f"  {name:24} {value:6.2f}")
    if not options.check:
        TARGET.write_bytes(msgspec.json.format(msgspec.json.encode(model), indent=2) + b"\n")


def train() -> match_score.Model:
    """Train a model on the pairs of `SETS`."""
    chosen = [
        (pair, counts)
        for name, counts in SETS.items()
        for pair in pairs(name)
        if pair.one.category not in {"public_holiday", "school_holiday"}
    ]
    records = [(*map(read_record, pair.events()), pair.same) for pair, _ in chosen]
    labels = np.array([float(same) for *_, same in records])
    rows = [match_score.features(one, other, TokenWeights()) for one, other, _ in records]
    usable = np.array([row is not None for row in rows])
    x, counts = _matrix(rows), np.array([counts for _, counts in chosen])
    made = _matrix(_unlike(records)), _matrix(_identical(records))
    threshold = _threshold(x, labels, counts, usable, made)
    found = _fit(*_training(x[usable], labels[usable], counts[usable], made))
    return match_score.Model(
        trained_on=f"{len(records)} pairs labelled by hand ({', '.join(SETS)}), {len(made[0])} of "
        f"unlike titles, {len(made[1])} of identical ones; never fresh_2",
        threshold=round(threshold, 3),
        bias=round(float(found[-1]), 4),
        weights={name: round(float(v), 4) for name, v in zip(NAMES, found[:-1], strict=True)},
    )


def _matrix(rows: Sequence[dict[str, float] | None]) -> Floats:
    return np.array([[(row or {}).get(name, 0.0) for name in NAMES] for row in rows])


def _unlike(records: list[tuple[MatchRecord, MatchRecord, bool]]) -> list[dict[str, float]]:
    """Return features of titles of different pairs, set at one place and time: two events."""
    placed = [one for one, _, _ in records if one.category not in {"observance", "sport"}]
    chance = random.Random(SEED)
    rows: list[dict[str, float]] = []
    while len(rows) < UNLIKE_PAIRS:
        one, other = chance.sample(placed, 2)
        mine, theirs = one.title.naming, other.title.naming
        if one.category != other.category or mine <= theirs or theirs <= mine:
            continue  # one of them may be the other
        moved = replace(one, origin=("other", ""), title=other.title)
        if (row := match_score.features(one, moved, TokenWeights())) is not None:
            rows.append(row)
    return rows


def _identical(
    records: list[tuple[MatchRecord, MatchRecord, bool]],
) -> list[dict[str, float] | None]:
    """Return features of a record and its copy from another source: one event."""
    return [
        match_score.features(one, replace(one, origin=("other", "")), TokenWeights())
        for one, _, _ in records
    ]


def _training(
    x: Floats, labels: Floats, counts: Floats, made: tuple[Floats, Floats]
) -> tuple[Floats, Floats, Floats]:
    """Return the rows with labels and weights, and with the rows derived from them."""
    unlike, same = made
    rows = [x, unlike]
    wanted = [labels, np.zeros(len(unlike))]
    weights = [counts, np.full(len(unlike), UNLIKE_WEIGHT)]
    two = np.vstack([x[labels == 0], unlike])
    two_weights = np.r_[counts[labels == 0], np.full(len(unlike), UNLIKE_WEIGHT)]
    for change in FURTHER:
        rows.append(_changed(two, change))
        wanted.append(np.zeros(len(two)))
        weights.append(FURTHER_WEIGHT * two_weights)
    for change in FURTHER:
        rows.append(_changed(same, change))
        wanted.append(np.ones(len(same)))
        weights.append(np.full(len(same), IDENTICAL_WEIGHT))
    rows.append(_changed(x[labels == 1], NEARER))
    wanted.append(np.ones(len(rows[-1])))
    weights.append(NEARER_WEIGHT * counts[labels == 1])
    return np.vstack(rows), np.concatenate(wanted), np.concatenate(weights)


def _changed(x: Floats, change: dict[str, float]) -> Floats:
    found = x.copy()
    for name, value in change.items():
        found[:, NAMES.index(name)] = value
    return found


def _fit(x: Floats, labels: Floats, weights: Floats) -> Floats:
    """Return weights and bias of a ridge logistic regression, by projected Newton steps."""
    rows, which = np.unique(np.column_stack([x, labels]), axis=0, return_inverse=True)
    x, labels, weights = rows[:, :-1], rows[:, -1], np.bincount(which.ravel(), weights)
    full = np.hstack([x, np.ones((len(x), 1))])
    signs = np.array([*SIGNS.values(), 0])
    ridge = np.array([RIDGE] * x.shape[1] + [1e-6])
    flipped = full * np.where(labels > 0, -1, 1)[:, None]

    def loss(at: Floats) -> float:
        return float((weights * np.logaddexp(0, flipped @ at)).sum() + (ridge * at * at).sum() / 2)

    found = np.zeros(full.shape[1])
    for _ in range(100):
        likely = 1 / (1 + np.exp(-full @ found))
        gradient = full.T @ (weights * (likely - labels)) + ridge * found
        free = (found != 0) | (signs == 0) | (gradient * signs < 0)
        used = full[:, free]
        curve = (used * (weights * likely * (1 - likely))[:, None]).T @ used
        step = np.zeros_like(found)
        step[free] = np.linalg.solve(curve + np.diag(ridge[free]), gradient[free])
        size = 1.0
        while True:
            tried = found - size * step
            tried[tried * signs < 0] = 0
            if loss(tried) <= loss(found) or size < 1e-6:
                break
            size /= 2
        if np.abs(tried - found).max() < 1e-7:
            break
        found = tried
    return found


def _threshold(
    x: Floats, labels: Floats, counts: Floats, usable: NDArray[np.bool_],
    made: tuple[Floats, Floats],
) -> float:  # fmt: skip
    """Return the lowest threshold with `MIN_PRECISION` in cross-validation, plus `MARGIN`."""
    order = np.random.default_rng(SEED)
    scores = np.zeros(len(labels))
    for _ in range(ROUNDS):
        fold = order.permutation(len(labels)) % FOLDS
        for n in range(FOLDS):
            train, test = (fold != n) & usable, (fold == n) & usable
            found = _fit(*_training(x[train], labels[train], counts[train], made))
            scores[test] += 1 / (1 + np.exp(-(x[test] @ found[:-1] + found[-1]))) / ROUNDS
    measured = {}
    for threshold in np.arange(30, 99):
        said = scores >= threshold / 100
        right = float((said * labels) @ counts)
        measured[int(threshold)] = right / (said @ counts), right / (labels @ counts)
    lowest = next(t for t, (precision, _) in measured.items() if precision >= MIN_PRECISION)
    chosen = lowest + round(100 * MARGIN)
    for threshold in (50, 60, 70, 80, 90, chosen):
        precision, recall = measured[threshold]
        print(f"{threshold / 100:.2f}: precision {precision:.3f}, recall {recall:.3f}")
    return chosen / 100


if __name__ == "__main__":
    main()
