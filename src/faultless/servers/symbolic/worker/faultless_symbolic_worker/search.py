"""The random engine: type-directed inputs, steered towards branches not yet taken."""

from __future__ import annotations

import copy
import itertools
import random
import time
from typing import TYPE_CHECKING, Any

from .arguments import write_arguments
from .calls import OverrunError, limited
from .events import Candidate, Covers, Event, Searched, TooSlow
from .generate import Generator, Unbuildable, mine
from .parameters import OMITTED
from .subjects import FAIL, LIMIT, PASS, SKIP, Judgement
from .values import NotRenderableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .prepare import Prepared
    from .shapes import Shape

RUN_SECONDS = 0.25
_REPORT_SECONDS = 0.1
_ENUMERATION_LIMIT = 3000
FIRST_INPUTS = 150
_CANDIDATES_PER_LABEL = 3
_CORPUS_LIMIT = 64
_CORPUS_SHARE = 0.45
_TWIN_SHARE = 0.2
_ALIAS_SHARE = 0.03
_OMIT_SHARE = 0.2


class Search:
    """`emit` sends an event to the supervisor."""

    def __init__(self, prepared: Prepared, emit: Callable[[Event], None], seed: int) -> None:
        self._prepared = prepared
        self._subject = prepared.subject
        self._items = prepared.parameters.items
        self._emit = emit
        self._rng = random.Random(seed)  # noqa: S311 - inputs to try, not secrets
        node = prepared.loaded.source.tree
        self._generator = Generator(self._rng, mine(node, prepared.loaded.source.text))
        self._corpus: list[list[Any]] = []
        self._seen: set[Any] = set()
        self._told: dict[tuple[type, str], int] = {}
        self._next_report = 0.0
        self._tally = {"inputs": 0, "passed": 0, "skipped": 0, "failed": 0, "slow": 0, "unclear": 0}

    def run(self) -> None:
        """Enumerates a small finite domain wholly; any other is sampled until the process is killed."""
        domain = finite_domain([item.shape for item in self._items])
        if domain is not None and not any(item.has_default for item in self._items):
            verdicts = {self._try(list(values)) for values in domain()}
            self._report(finished=True, enumerated=verdicts <= {PASS, SKIP})
            return
        while True:
            try:
                values = self._draw()
            except Unbuildable:
                continue
            self._try(values)
            if self._tally["inputs"] == FIRST_INPUTS or time.monotonic() >= self._next_report:
                self._report()

    def _report(self, *, finished: bool = False, enumerated: bool = False) -> None:
        self._next_report = time.monotonic() + _REPORT_SECONDS
        self._emit(Searched(**self._tally, finished=finished, enumerated=enumerated))

    def _draw(self) -> list[Any]:
        rng = self._rng
        if self._corpus and rng.random() < _CORPUS_SHARE:
            values = copy.deepcopy(rng.choice(self._corpus))
            for index in range(len(values)):
                if values[index] is not OMITTED and rng.random() < 1.5 / len(values):
                    values[index] = self._mutate(values[index], self._items[index].shape)
            return values
        values = [self._generator.value(item.shape) for item in self._items]
        self._relate(values)
        self._omit(values)
        return values

    def _mutate(self, value: Any, shape: Shape) -> Any:
        rng = self._rng
        if rng.random() < 0.3:  # noqa: PLR2004 - a share
            return self._generator.value(shape)
        if shape.kind == "int":
            return rng.choice(
                [value + 1, value - 1, -value, value * 2, value // 2, value + self._generator.integer()]
            )
        if shape.kind == "str":
            return self._generator.edit(value)
        if shape.kind in {"list", "vartuple"}:
            return type(value)(self._mutate_items(list(value), shape.parts[0]))
        if shape.kind == "dict" and value:
            key = rng.choice(list(value))
            return {**value, key: self._mutate(value[key], shape.parts[1])}
        return self._generator.value(shape)

    def _mutate_items(self, items: list[Any], part: Shape) -> list[Any]:
        rng = self._rng
        roll = rng.random()
        at = rng.randrange(len(items)) if items else 0
        if not items or roll < 0.3:  # noqa: PLR2004 - shares of a distribution
            again = items and rng.random() < _TWIN_SHARE
            items.insert(at, copy.deepcopy(rng.choice(items)) if again else self._generator.value(part))
        elif roll < 0.5:  # noqa: PLR2004 - as above
            del items[at]
        elif roll < 0.6:  # noqa: PLR2004 - as above
            rng.shuffle(items)
        else:
            items[at] = self._mutate(items[at], part)
        return items

    def _relate(self, values: list[Any]) -> None:
        """Equal, neighbouring or identical arguments are rare by chance and common in bugs."""
        rng = self._rng
        if len(values) < 2 or rng.random() >= _TWIN_SHARE:  # noqa: PLR2004 - a pair
            return
        first, second = rng.sample(range(len(values)), 2)
        if self._items[first].shape != self._items[second].shape:
            return
        alias = self._items[first].shape.is_mutable and rng.random() < _ALIAS_SHARE / _TWIN_SHARE
        values[second] = values[first] if alias else copy.deepcopy(values[first])
        if self._items[first].shape.kind == "int":
            values[second] += rng.choice([0, 0, 1, -1])

    def _omit(self, values: list[Any]) -> None:
        for index in self._prepared.parameters.omittable():
            if self._rng.random() >= _OMIT_SHARE:
                break
            values[index] = OMITTED
        for index in self._prepared.parameters.free():
            if self._rng.random() < _OMIT_SHARE:
                values[index] = OMITTED

    def _try(self, values: list[Any]) -> str:
        kept = copy.deepcopy(values)
        self._prepared.loaded.recorder.reset()
        self._tally["inputs"] += 1
        try:
            with limited(RUN_SECONDS):
                judgement = self._subject.judge(*self._prepared.parameters.bind(values))
        except OverrunError:
            self._tally["slow"] += 1
            self._tell(TooSlow, kept, "still running")
            return LIMIT
        self._learn(kept, judgement)
        return judgement.verdict

    def _learn(self, values: list[Any], judgement: Judgement) -> None:
        name = {PASS: "passed", SKIP: "skipped", FAIL: "failed", LIMIT: "slow"}.get(
            judgement.verdict, "unclear"
        )
        self._tally[name] += 1
        if judgement.verdict == FAIL:
            self._tell(Candidate, values, judgement.label)
        elif judgement.verdict == LIMIT:
            self._tell(TooSlow, values, judgement.label)
        news = {judgement.label, *self._prepared.loaded.recorder.taken} - self._seen
        if news and judgement.verdict != SKIP:
            self._seen |= news
            self._tell(Covers, values, judgement.label)
            self._corpus.append(values)
            del self._corpus[:-_CORPUS_LIMIT]

    def _tell(self, kind: type[Candidate | Covers | TooSlow], values: list[Any], label: str) -> None:
        """A bounded number of times for each label."""
        key = (kind, label)
        limit = _CANDIDATES_PER_LABEL if kind is Candidate else _CORPUS_LIMIT
        if self._told.get(key, 0) >= limit:
            return
        try:
            written = write_arguments(values, self._prepared.parameters, self._prepared.loaded.namespace)
        except NotRenderableError:
            return
        self._told[key] = self._told.get(key, 0) + 1
        if kind is Candidate:
            self._emit(Candidate(written, label, "search"))
        elif kind is Covers:
            self._emit(Covers(written, sorted(self._prepared.loaded.recorder.taken)))
        else:
            self._emit(TooSlow(written))


def finite_domain(shapes: list[Shape]) -> Callable[[], Iterator[tuple[Any, ...]]] | None:
    """All inputs, where there are few: booleans, enums, literals, None, and tuples and unions of them."""
    parts = [_finite_values(shape) for shape in shapes]
    size = 1
    for part in parts:
        if part is None:
            return None
        size *= len(part)
    if size > _ENUMERATION_LIMIT:
        return None
    known = [part for part in parts if part is not None]
    return lambda: itertools.product(*known)


def _finite_values(shape: Shape) -> list[Any] | None:
    if shape.kind == "bool":
        return [False, True]
    if shape.kind == "none":
        return [None]
    if shape.kind == "choice":
        return list(shape.values)
    if shape.kind not in {"union", "tuple"}:
        return None
    parts = [_finite_values(part) for part in shape.parts]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if shape.kind == "union":
        return [value for part in known for value in part]
    return [tuple(values) for values in itertools.islice(itertools.product(*known), _ENUMERATION_LIMIT + 1)]
