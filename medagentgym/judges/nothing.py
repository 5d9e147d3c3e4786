"""Words that say "nothing": what answers a question whose gold is empty, and nothing else.

The whole text counts, case and a full stop apart. It is one of `NOTHING_WORDS`; or an empty table as pandas prints it; or one short clause of words
(`MOST_WORDS` at most, no digit, no comma) that denies:

| clause | for example |
|---|---|
| no ..., with a word for being there | `No prescriptions found.`, `no such patient exists`, `no allergies were recorded for this patient` |
| there is or are no ... | `There are no records.` |
| none or not, with a word for being there | `none found`, `not recorded` |

A clause that counts, compares, goes on to something else or speaks of the program is none of these (`there are no more than two`,
`there is no way to tell`, `no such table exists`); nor is a bare "no", which answers another question; nor a value of the tables (`no growth`, an
organism; `not specified`, a religion).
"""

from __future__ import annotations

import re

from medagentgym.judges.values import fold_text

NOTHING_WORDS = frozenset(
    {
        "n/a",
        "nothing",
        "nothing found",
        "empty",
        "not found",
        "not available",
        "no answer",
        "no data",
        "no data found",
        "no data available",
        "no record",
        "no records",
        "no record found",
        "no records found",
        "no such record",
        "no such records",
        "no matching record",
        "no matching records",
        "no matching records found",
        "no result",
        "no results",
        "no results found",
        "no value",
        "no rows",
    }
)
"""Wordings that say "nothing" as the whole of an answer, case and a full stop apart."""
MOST_WORDS = 8
_LONGEST = 1_000
_LONGEST_CLAUSE = 100
_BEING_THERE = re.compile(r"\b(?:found|exists?|existed|available|recorded|documented|returned|retrieved)\b")
_GOING_ON = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|more|most|less|least|fewer|few|longer|others?|than|only|but|except|besides|apart|if"
    r"|unless|until|because|since|and|or|nor|yes|no|not|without|to|that|way|idea|doubt|reason|need|problem|question|errors?|issues?|tables?|columns?|files?)\b"
)
_CLAUSE = re.compile(r"(?P<denial>no|none|not|there (?:is|are|was|were) no) (?P<rest>[a-z'-]+(?: [a-z'-]+)*)")
_EMPTY_TABLE = re.compile(r"series\(\[\], [^\[\]]*\)|(?:empty dataframe columns: \[[^\[\]]*\] )?index: \[\]")


def says_nothing(text: str) -> bool:
    """Whether the text as a whole says that there is nothing. False for the empty text, which is a missing value."""
    if len(text) > _LONGEST:
        return False
    folded = fold_text(text).rstrip(".!")
    return folded in NOTHING_WORDS or _EMPTY_TABLE.fullmatch(folded) is not None or _denies(folded)


def _denies(folded: str) -> bool:
    clause = _CLAUSE.fullmatch(folded) if len(folded) <= _LONGEST_CLAUSE else None
    if clause is None or len(folded.split()) > MOST_WORDS or _GOING_ON.search(clause["rest"]):
        return False
    return clause["denial"].startswith("there") or _BEING_THERE.search(clause["rest"]) is not None
