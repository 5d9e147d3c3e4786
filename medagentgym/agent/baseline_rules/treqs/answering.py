"""The steps of an episode on the five tables."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence

from medagentgym.agent.baseline_rules.asked import Query
from medagentgym.agent.baseline_rules.treqs.columns import COLUMNS
from medagentgym.agent.baseline_rules.treqs.question import Reading, folded, head_of, query, read
from medagentgym.agent.baseline_rules.treqs.values import Match, matches_in, search_program
from medagentgym.env.replies import as_reply

LOOKUPS = 4
"""Terms that are looked up at most."""

_TERM = re.compile(
    r"\b(?:(?P<primary>primary (?:disease|diagnosis)(?: is| of| named)?)"
    r"|(?P<procedure>(?:procedures?(?: (?:short|long) title)?(?: is| of| named| called)?|underwent|undergone|undergoing))"
    r"|(?P<diagnosis>(?:diagnos\w+(?: (?:short|long) title)?(?: is| of| with| as| for)?|suffer\w* from))"
    r"|(?P<lab>(?:lab(?:oratory)? tests?(?: name| label)?(?: is| of| for| named)?|tested for))"
    r"|(?P<drug>(?:drugs?(?: name)?(?: is| of| named)?|prescribed(?: with)?|treated with|given|taking)))"
    r" (?:the |a |an |any )?(?P<term>[^\x00?]{3,}?)(?= and (?:who|whose|with|are|is|have|had|were|was)\b| who\b| whose\b|\x00|[?.]? *$)"
)
_PLACES = {
    "primary": ("DEMOGRAPHIC", ("DIAGNOSIS",)),
    "procedure": ("PROCEDURES", ("LONG_TITLE", "SHORT_TITLE")),
    "diagnosis": ("DIAGNOSES", ("LONG_TITLE", "SHORT_TITLE")),
    "lab": ("LAB", ("LABEL",)),
    "drug": ("PRESCRIPTIONS", ("DRUG",)),
}
_FOUND = re.compile(r"^(?P<table>\w+)\.csv, column (?P<column>\w+): (?P<value>.*) \([\d,]+ rows?\)$")
_NOTHING = "1 = 0"
"""The condition of a term that the tables do not hold."""
_EMPTY_WORDS = re.compile(
    r"(?:\W|\b(?:the|an?|and|or|is|are|was|were|of|with|for|in|on|by|via|to|from|who|whose|that|which|their|there|had|has|have|did|been|being|name[sd]?"
    r"|called|labels?|tests?|lab|laboratory|category|fluids?|status|item|ids?|drugs?|types?|codes?|routes?|short|long|titles?|icd ?-?9?|procedures?"
    r"|diagnos[ei]s|diagnosed|disease|primary|patients?|under|admission|hospital|location|given|prescribed|treated|underwent|suffering|tested|aged?|old|years?)\b)+",
)
"""Words that name nothing."""


def fits(tables: str) -> bool:
    """Whether these are the tables that the rules know."""
    return "DEMOGRAPHIC.csv (" in tables and "PRESCRIPTIONS.csv (" in tables


def readings(question: str, database: str, permitted: Sequence[str]) -> Generator[str, str, Query]:
    """Give the replies that find out what a question means, be sent the observations, and return the query that answers it."""
    text = folded(question)
    observation = yield as_reply("validate_code", {"code": search_program(text, database)})
    reading = read(text, matches_in(observation, text))
    head = head_of(reading)
    conditions = reading.conditions
    if "request_info" in permitted and head.kind != "columns":
        conditions += yield from _look_up(reading)
    if reading.subject is not None:
        conditions.append(f"{'DEMOGRAPHIC' if 'DEMOGRAPHIC' in head.tables else sorted(head.tables)[0]}.SUBJECT_ID = '{reading.subject}'")
    return Query(query(head, conditions), "list" if head.kind == "columns" else "value", f"{head.kind} of admissions")


def _look_up(reading: Reading) -> Generator[str, str, list[str]]:
    """Conditions for terms that stand where a value should and are none."""
    conditions = []
    for _ in range(LOOKUPS):
        match = _TERM.search(reading.text)
        if match is None:
            break
        kind = next(name for name in _PLACES if match[name])
        term = re.sub(r"^(?:the|an?|is|of|with)\b *", "", match["term"].strip(" ,."))
        reading.blank(*match.span())
        if not term or _EMPTY_WORDS.fullmatch(term):
            continue
        table, columns = _PLACES[kind]
        observation = yield as_reply("request_info", {"data_path": f"{table}.csv", "info_type": "term", "keyterm": term})
        conditions.append(_condition(observation, table, columns))
    return conditions


def _condition(observation: str, table: str, columns: Sequence[str]) -> str:
    """The condition for the best value that a lookup offers."""
    for line in observation.splitlines():
        if line.startswith("Nothing like"):
            break
        found = _FOUND.match(line)
        if found is not None and found["table"] == table and found["column"] in columns:
            column = next(column for column in COLUMNS if (column.table, column.name) == (table, found["column"]))
            return Match(column, found["value"], 0, 0, 0).sql
    return _NOTHING
