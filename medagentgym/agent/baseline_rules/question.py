"""The reading of a question: what it is about, taken apart.

`read_question` takes out, one after another, the times, the patients, and the names of things; what remains is the *skeleton*, the words that say
what is asked. A question with a condition on another event ("... after having been diagnosed with ...") has two clauses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from medagentgym.agent.baseline_rules import phrases
from medagentgym.agent.baseline_rules.phrases import Comparison, Range
from medagentgym.agent.baseline_rules.terms import Term, take_terms
from medagentgym.agent.baseline_rules.time_expressions import GAP, TimeWindow, VisitReference, read_times
from medagentgym.agent.baseline_rules.wordings import known_wording


@dataclass(frozen=True)
class Closeness:
    """How close two events must be: on one visit, in one month, on one day, or the second within a span after the first."""

    kind: Literal["visit", "month", "day", "span"]
    span: str = ""
    """For SQLite: "+2 month"."""


@dataclass(frozen=True)
class Clause:
    """A part of the skeleton, with the numbers of its terms and the time windows that stand in it."""

    text: str
    terms: tuple[int, ...] = ()
    windows: tuple[TimeWindow, ...] = ()


@dataclass(frozen=True)
class Question:
    """What a question says."""

    text: str
    """In lower case and known wording."""
    now: str
    """The present, `YYYY-MM-DD HH:MM:SS`."""
    skeleton: str
    """`<0>` stands for the first term, `|t0|` for the first time window, `|` for other things that were taken out."""
    terms: tuple[Term, ...]
    main: Clause
    condition: Clause | None
    """The clause of the other event."""
    relation: Literal["after", "together"] | None
    """How the main event lies to the other one: later, or on the same visit or day."""
    closeness: Closeness | None
    windows: tuple[TimeWindow, ...]
    visit: VisitReference | None
    patient: int | str | None
    """Whom the question names: a text where the identifier is not a whole number."""
    gender: Literal["f", "m"] | None
    ages: Range | None
    route: str | None
    repeats: tuple[str, int] | None
    comparison: Comparison | None
    measured: str | None
    """A value that the question states, as it is written there."""


def read_question(text: str, now: str) -> Question:
    """Read a question. `now` is the present, `YYYY-MM-DD HH:MM:SS`."""
    unmarked = re.sub(r"<(\d+)>", r"\1", text.lower().replace("|", " "))
    whole = known_wording(" ".join(unmarked.split()).rstrip(" ?.!"))
    times = read_times(whole, datetime.fromisoformat(now))
    rest = phrases.take(phrases.PATIENT, times.text, "patient ")
    patient = _identifier(rest.found[1]) if rest.found else None
    route = phrases.take(phrases.ROUTE, rest.text)
    comparison = phrases.take(phrases.COMPARISON, route.text)
    measured = phrases.take(phrases.MEASURED, comparison.text)
    repeats = phrases.take(phrases.REPEATS, measured.text)
    ages_text, ages = _take_ages(repeats.text)
    gender = phrases.take(phrases.GENDER, ages_text, "")
    close_text, closeness = _take_closeness(" ".join(gender.text.split()))
    skeleton, terms = take_terms(close_text)
    skeleton = " ".join(skeleton.split())
    main, condition, relation = _clauses(skeleton, times.windows)
    return Question(
        text=whole,
        now=now,
        skeleton=skeleton,
        terms=tuple(terms),
        main=main,
        condition=condition,
        relation=relation,
        closeness=closeness,
        windows=times.windows,
        visit=times.visit,
        patient=patient,
        gender=None if gender.found is None else "f" if gender.found["f"] else "m",
        ages=ages,
        route=route.found[1] if route.found else None,
        repeats=phrases.repeats(repeats.found) if repeats.found else None,
        comparison=Comparison(phrases.sign(comparison.found["word"]), comparison.found["limit"]) if comparison.found else None,
        measured=measured.found["value"] if measured.found else None,
    )


def _identifier(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def _take_ages(text: str) -> tuple[str, Range | None]:
    for pattern, read in phrases.AGES:
        taken = phrases.take(pattern, text)
        if taken.found is not None:
            return taken.text, read(taken.found)
    return text, None


_CLOSENESS: tuple[tuple[re.Pattern[str], Literal["visit", "month", "day", "span"]], ...] = (
    (re.compile(r"\b(?:within|in|during|on) the same (?:hospital )?(?:visit|stay|encounter|admission)\b"), "visit"),
    (re.compile(r"\b(?:within|in|during) the same month\b"), "month"),
    (re.compile(r"\b(?:at the same time|on the same day(?= as|$| \|))"), "day"),
    (re.compile(r"\bwithin (?P<count>\d+|one|two|three|four|five|six) (?P<unit>hour|day|week|month|year)s?\b"), "span"),
)


def _take_closeness(text: str) -> tuple[str, Closeness | None]:
    for pattern, kind in _CLOSENESS:
        match = pattern.search(text)
        if match is None:
            continue
        span = ""
        if kind == "span":
            days = {"week": (7, "day")}.get(match["unit"], (1, match["unit"]))
            span = f"+{phrases.number(match['count']) * days[0]} {days[1]}"
        kept = text if kind == "day" else text[: match.start()] + GAP + text[match.end() :]
        return kept, Closeness(kind, span)
    return text, None


_SPLITS: tuple[tuple[re.Pattern[str], Literal["after", "together"]], ...] = (
    (re.compile(r"\bafter\b"), "after"),
    (re.compile(r"\b(?:during|over|of|on|for|in) (?:an? |the |all )*(?:completed )?hospital visits? (?:on|in|during) which\b"), "together"),
    (re.compile(r"\bthat involves?\b|\bhospital visit with\b|\bon the same day as\b|\bwho were also\b"), "together"),
)


def _clauses(skeleton: str, windows: tuple[TimeWindow, ...]) -> tuple[Clause, Clause | None, Literal["after", "together"] | None]:
    for pattern, relation in _SPLITS:
        match = pattern.search(skeleton)
        if match is not None and re.search(r"<\d+>", skeleton[match.end() :]):
            return _clause(skeleton[: match.start()], windows), _clause(skeleton[match.start() :], windows), relation
    return _clause(skeleton, windows), None, None


def _clause(text: str, windows: tuple[TimeWindow, ...]) -> Clause:
    terms = tuple(int(number) for number in re.findall(r"<(\d+)>", text))
    return Clause(text.strip(), terms, tuple(windows[int(number)] for number in re.findall(r"\|t(\d+)\|", text)))
