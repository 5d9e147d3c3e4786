"""Which words of a question name something that the tables hold, and what `request_info` says of them.

A rule finds a term by the words around it ("diagnosed with ...", "a ... lab test"), which also say of which kind it is; where they do not, the
lookup decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from medagentgym.agent.baseline_rules.schema import GENERIC_TERMS, MIMIC_III, EventKind, Schema

# --- in the question ----------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Term:
    """Words that name something, and the kinds of event that it may be, likeliest first."""

    text: str
    kinds: tuple[str, ...]


VALUE_KINDS = ("lab", "vital")
CODED_KINDS = ("diagnosis", "procedure")

_TERM = r"(?P<term>(?:(?!\b(?:that|the|patients?|was|were|had|has|have|been|did|does|which|who|whom|then)\b)[^|])+?)"
_END = (
    r"(?= *(?:\||$|\b(?:that|who|which|after|before|within|during|starting|on the same|at the same|of patients?|for patients?|in patients?|"
    r"prescribed|have died|has died|have|has|and then|also|costs?|stands?|or above|ended|end|more than|lived|at admission)\b))"
)
_ARTICLE = r"\b(?:an?|any|the|of|in|many)"
_RULES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("diagnosis",), rf"(?:hospital|icu) visits? on which {_TERM} (?:was|were) diagnosed"),
    (("procedure",), rf"(?:hospital|icu) visits? on which {_TERM} (?:was|were) performed"),
    (("drug",), rf"(?:hospital|icu) visits? on which {_TERM} (?:was|were) prescribed"),
    (CODED_KINDS, rf"(?:hospital|icu) visit with {_TERM}{_END}"),
    (("diagnosis",), rf"diagnosed (?:with|as) {_TERM}{_END}"),
    (("diagnosis",), rf"diagnos(?:is (?:of|named)|ing) {_TERM}{_END}"),
    (CODED_KINDS, rf"short title {_TERM}{_END}"),
    (CODED_KINDS, rf"what (?:does|is) {_TERM} (?:stand|short) for"),
    (("procedure",), rf"\bunder(?:went|going|go|gone) {_TERM}(?: procedure)?{_END}"),
    (("procedure",), rf"{_ARTICLE} {_TERM} procedures?\b"),
    (("procedure",), rf"\bprocedure (?:named )?(?!time|cases?|did|that){_TERM}{_END}"),
    (("lab",), rf"{_ARTICLE} {_TERM} lab(?:oratory)? (?:tests?|values?)"),
    (("specimen",), rf"(?:{_ARTICLE}|first|last|patient) {_TERM} microbiology tests?"),
    (("organism",), rf"\bwas {_TERM} found"),
    (("allergy",), rf"\ballergic to {_TERM}{_END}"),
    (("allergy",), rf"\ballergy named {_TERM}{_END}"),
    (("intake",), rf"{_ARTICLE} {_TERM} intakes?\b"),
    (("output",), rf"{_ARTICLE} {_TERM} outputs?\b"),
    (("ward",), r"\bward (?P<term>\d+)"),
    (("care unit",), rf"\bcare ?unit {_TERM}{_END}"),
    (("admission",), rf"admission of type {_TERM}{_END}"),
    (("admission place",), rf"admitted (?:to the hospital )?(?:via|through|from) (?:the )?{_TERM}{_END}"),
    (("admission place",), r"\bbeen to (?:an?|the) (?P<term>emergency room)"),
    (("discharge",), rf"discharge location {_TERM}{_END}"),
    (("drug",), rf"\bdose of {_TERM}{_END}"),
    (("drug",), rf"\b(?:prescriptions?|start|method|cost) of (?:a drug named )?{_TERM}{_END}"),
    (("drug",), rf"\bdrug named {_TERM}{_END}"),
    (("drug",), rf"\bsame day as {_TERM}{_END}"),
    (("drug",), rf"\b(?:of|were|many) {_TERM} prescription"),
    (("drug",), rf"\bis {_TERM} (?:given|taken|administered)"),
    (("drug",), rf"\bprescribed (?:with )?{_TERM}{_END}"),
    (VALUE_KINDS, rf"\bvalues? of {_TERM}{_END}"),
    (VALUE_KINDS, rf"(?:{_ARTICLE}|minimum|maximum|average|last|first) {_TERM} values?\b"),
    (VALUE_KINDS, rf"\b(?:an?|the) {_TERM} (?:measured|measurements?)"),
)
_BARE_VALUE = re.compile(rf"\b(?:the|minimum|maximum|average|daily|monthly|yearly) {_TERM}(?: of patient|(?= *\||$))")
_NOT_MEASURED = re.compile(
    r"\bicu\b|gender|date|birth|\bage\b|status|insurance|ethnicity|language|length|cost|ward|care ?unit|name|number|visit|admission|discharge|time|"
    r"type|drug|mortality|survival|percentage|\btest|location|stay|intake|output|difference|change|prescription|hospital|top|most|diagnos|procedure|dose|volume|value"
)
_MODIFIERS = re.compile(
    r"^(?:an?|any|all|the|other|different|minimum|maximum|average|mean|total|lowest|highest|first|last|second to last|second|third|measured|daily|"
    r"monthly|yearly|number of|five|four|three|two|total|volume of|amount of|value of|costs? of|price of|named)(?:\s+|$)"
)
_NO_TERM = re.compile(r"\b(?:hospital|icu) (?:visit|stay)|\bnames?\b|\bfrequent|^starting$|intakes? and|^values?$|^[\d. ]+ in\b")


def take_terms(text: str) -> tuple[str, list[Term]]:
    """Replace the terms of a text by `<0>`, `<1>`, ... in the order in which they stand."""
    found: list[tuple[int, int, Term]] = []
    for kinds, rule in _RULES:
        for match in re.finditer(rule, text):
            _add(found, match, kinds)
    if not found:
        for match in _BARE_VALUE.finditer(text):
            if not _NOT_MEASURED.search(match["term"]):
                _add(found, match, VALUE_KINDS)
    terms: list[Term] = []
    parts: list[str] = []
    position = 0
    for start, end, term in sorted(found, key=lambda item: item[0]):
        parts.append(text[position:start])
        for number, piece in enumerate(_pieces(term)):
            parts.append(f"{' and ' if number else ''}<{len(terms)}>")
            terms.append(piece)
        position = end
    return "".join([*parts, text[position:]]), terms


def _add(found: list[tuple[int, int, Term]], match: re.Match[str], kinds: tuple[str, ...]) -> None:
    """Add a match, unless it overlaps one of an earlier rule or names nothing."""
    start, end = match.span("term")
    term = match["term"]
    while modifier := _MODIFIERS.match(term):
        start += modifier.end()
        term = term[modifier.end() :]
    term = term.strip(" ,")
    if not term or GENERIC_TERMS.fullmatch(term) or _NO_TERM.search(term) or any(start < other[1] and other[0] < end for other in found):
        return
    found.append((start, start + len(match["term"][-(end - start) :].rstrip(" ,")), Term(term, kinds)))


def _pieces(term: Term) -> list[Term]:
    """The drugs of an enumeration "a, b, or c", or "a and b"; other terms as they are."""
    if term.kinds != ("drug",):
        return [term]
    if re.search(r", (?:or|and) ", term.text):
        return [Term(piece.strip(), term.kinds) for piece in re.split(r", (?:or |and )?", term.text) if piece.strip()]
    return [Term(piece.strip(), term.kinds) for piece in re.split(r" and ", term.text)]


# --- in the tables ------------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Name:
    """A name that stands in the tables."""

    kind: EventKind
    value: str
    column: str


@dataclass(frozen=True)
class Lookup:
    """A `request_info` action for a term: the tables to search, all where empty."""

    term: str
    tables: tuple[str, ...] = ()

    def params(self) -> dict[str, str]:
        """Its parameters."""
        where = {"data_path": ",".join(f"{table}.csv" for table in self.tables)} if self.tables else {}
        return {**where, "info_type": "term", "keyterm": self.term}


_FOUND = re.compile(r"^(?P<table>\w+)\.csv, column (?P<column>\w+): (?P<value>.*) \([\d,]+ rows?\)$")
_ABBREVIATIONS = {"weight": "wt", "height": "ht", "blood pressure": "bp", "temperature": "temp", "oxygen saturation": "sao2"}


def lookups(term: Term, schema: Schema = MIMIC_III) -> list[Lookup]:
    """What to look up for a term, one after another until something is found: where its kinds are named, its abbreviation there, everywhere."""
    columns = [column for kind in _kinds(term, schema) if not kind.known_names for column in kind.name_columns]
    tables = tuple(dict.fromkeys(table for table, _ in columns))
    wordings = [term.text]
    wordings += [term.text.replace(word, short) for word, short in _ABBREVIATIONS.items() if word in term.text]
    return [*(Lookup(wording, tables) for wording in wordings), Lookup(term.text)]


def names_in(observation: str, term: Term, schema: Schema = MIMIC_III) -> list[Name]:
    """The names that an answer of the lookup offers for a term, best first: its kinds before others. Where there are equal names, only those."""
    offered: list[tuple[int, int, int, Name]] = []
    for position, line in enumerate(observation.splitlines()):
        if line.startswith("Nothing like"):
            return []
        match = _FOUND.match(line)
        if match is None:
            continue
        exact = match["value"].lower() == term.text.lower()
        for kind in schema.kinds.values():
            if (match["table"], match["column"]) in kind.name_columns:
                rank = term.kinds.index(kind.name) if kind.name in term.kinds else len(term.kinds)
                offered.append((not exact, rank, position, Name(kind, match["value"], match["column"])))
    offered.sort(key=lambda item: item[:3])
    return [name for other, *_, name in offered if other == offered[0][0]]


def names_without_lookup(term: Term, schema: Schema = MIMIC_III) -> list[Name]:
    """A term that is a number names itself, for numbers are not looked up; one that is a column is known."""
    kinds = _kinds(term, schema)
    return [Name(kind, term.text, kind.item) for kind in kinds if kind.is_number or term.text in kind.known_names]


def unknown_names(term: Term, schema: Schema = MIMIC_III) -> list[Name]:
    """A term that the tables do not hold: the question's own words, of which nothing will be found."""
    return [Name(kind, term.text, kind.name_columns[0][1]) for kind in _kinds(term, schema)[:1]]


def _kinds(term: Term, schema: Schema) -> list[EventKind]:
    return [schema.kinds[kind] for kind in term.kinds if kind in schema.kinds]
