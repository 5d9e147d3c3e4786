"""What the agent knows of the tables: which kind of event lies where, and which words of a question name it.

The names of tables and columns are those that the prompt shows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class NameTable:
    """A table that gives names to codes."""

    table: str
    code: str
    name: str
    long_name: str | None = None


@dataclass(frozen=True)
class EventKind:
    """One kind of thing that happens to a patient: a row of `table` at the time `time`."""

    name: str
    table: str
    time: str
    item: str
    """Column that says what it was: a code, where `names` is given, else the name itself."""
    names: NameTable | None = None
    value: str | None = None
    """Column of the measured value."""
    filed_under: str | None = None
    """Value of the name table's LINKSTO where it serves several tables."""
    present: tuple[str, ...] = ()
    """Columns without which a row does not count as such an event."""
    is_number: bool = False
    """Whether the item is a number."""
    charged_as: str | None = None
    """EVENT_TYPE of its costs, if it has some."""
    found_in: tuple[tuple[str, str], ...] = ()
    """Tables and columns where its name may be found, where `table` is not in the database."""
    known_names: tuple[str, ...] = ()
    """Its names, where the agent knows them because they are columns."""

    @property
    def name_columns(self) -> tuple[tuple[str, str], ...]:
        """Tables and columns where the name of such an event may be found."""
        if self.found_in:
            return self.found_in
        if self.names is None:
            return ((self.table, self.item),)
        columns = [(self.names.table, self.names.name)]
        if self.names.long_name is not None:
            columns.append((self.names.table, self.names.long_name))
        return tuple(columns)


_DIAGNOSES = NameTable("D_ICD_DIAGNOSES", "ICD9_CODE", "SHORT_TITLE", "LONG_TITLE")
_PROCEDURES = NameTable("D_ICD_PROCEDURES", "ICD9_CODE", "SHORT_TITLE", "LONG_TITLE")
_LABS = NameTable("D_LABITEMS", "ITEMID", "LABEL")
_ITEMS = NameTable("D_ITEMS", "ITEMID", "LABEL")

EVENT_KINDS = {
    kind.name: kind
    for kind in (
        EventKind("diagnosis", "DIAGNOSES_ICD", "CHARTTIME", "ICD9_CODE", _DIAGNOSES, charged_as="diagnoses_icd"),
        EventKind("procedure", "PROCEDURES_ICD", "CHARTTIME", "ICD9_CODE", _PROCEDURES, charged_as="procedures_icd"),
        EventKind("lab", "LABEVENTS", "CHARTTIME", "ITEMID", _LABS, value="VALUENUM", charged_as="labevents"),
        EventKind("vital", "CHARTEVENTS", "CHARTTIME", "ITEMID", _ITEMS, value="VALUENUM", filed_under="chartevents"),
        EventKind("drug", "PRESCRIPTIONS", "STARTDATE", "DRUG", value="DOSE_VAL_RX", charged_as="prescriptions"),
        EventKind("intake", "INPUTEVENTS_CV", "CHARTTIME", "ITEMID", _ITEMS, value="AMOUNT", filed_under="inputevents_cv"),
        EventKind("output", "OUTPUTEVENTS", "CHARTTIME", "ITEMID", _ITEMS, value="VALUE", filed_under="outputevents"),
        EventKind("specimen", "MICROBIOLOGYEVENTS", "CHARTTIME", "SPEC_TYPE_DESC"),
        EventKind("organism", "MICROBIOLOGYEVENTS", "CHARTTIME", "ORG_NAME", present=("ORG_NAME",)),
        EventKind("care unit", "TRANSFERS", "INTIME", "CAREUNIT", present=("CAREUNIT",)),
        EventKind("ward", "TRANSFERS", "INTIME", "WARDID", present=("WARDID",), is_number=True),
        EventKind("icu stay", "ICUSTAYS", "INTIME", "FIRST_CAREUNIT"),
        EventKind("admission", "ADMISSIONS", "ADMITTIME", "ADMISSION_TYPE"),
        EventKind("admission place", "ADMISSIONS", "ADMITTIME", "ADMISSION_LOCATION"),
        EventKind("discharge", "ADMISSIONS", "DISCHTIME", "DISCHARGE_LOCATION", present=("DISCHTIME",)),
    )
}
"""The kinds of events, by name."""

KIND_WORDS: tuple[tuple[str, str], ...] = (
    ("microbiology", "specimen"),
    ("specimens?", "specimen"),
    ("allerg(?:y|ies|ic)", "allergy"),
    ("organisms?", "organism"),
    (r"lab(?:oratory)? (?:tests?|values?)", "lab"),
    ("procedures?|underwent|undergo", "procedure"),
    ("prescri|drugs?|medications?|dose", "drug"),
    (r"diagnos(?:is|es|ed)", "diagnosis"),
    ("intakes?|inputs?", "intake"),
    ("outputs?", "output"),
    ("care ?units?", "care unit"),
    (r"wards?\b", "ward"),
    (r"icu (?:visits?|stays?)|to the icu", "icu stay"),
    ("discharged?", "discharge"),
    (r"admi(?:ssions?|tted)|hospital (?:visits?|stays?)|(?:came|come|been) to the hospital", "admission"),
)
"""Words that name a kind of event; the first that a text holds counts."""

GENERIC_TERMS = re.compile(
    r"(?:any|all|a|an|the|other|more|different)? ?"
    r"(?:lab(?:oratory)? tests?|procedures?|drugs?|medications?|medicines?|diagnos[ei]s|intakes?|outputs?|organisms?|microbiology(?: tests?)?|"
    r"specimens?|tests?|allerg(?:y|ies)|one)"
)
"""Words for a kind of event that name none in particular."""


@dataclass(frozen=True)
class Attribute:
    """A column that describes a patient or a visit."""

    words: str
    column: str
    """With its table: `patient`, `visit` or `event`."""
    kind: str | None
    """Kind of event that it belongs to; None where a patient has only one."""


ATTRIBUTES = (
    Attribute(r"\bgender\b|\bsex\b", "patient.GENDER", None),
    Attribute(r"date of birth|\bborn\b|birth ?(?:day|date)", "patient.DOB", None),
    Attribute(r"date of death|(?:date|when|day) .*\bdie\b", "patient.DOD", None),
    Attribute(r"\bage of\b|\bhow old\b|\bage\?", "visit.AGE", "admission"),
    Attribute("insurance", "visit.INSURANCE", "admission"),
    Attribute("marital status", "visit.MARITAL_STATUS", "admission"),
    Attribute(r"ethnicity|\brace\b", "visit.ETHNICITY", "admission"),
    Attribute("language", "visit.LANGUAGE", "admission"),
    Attribute("where .* discharged? to|discharge location", "visit.DISCHARGE_LOCATION", "discharge"),
    Attribute(r"admission type|type .*admission", "visit.ADMISSION_TYPE", "admission"),
    Attribute("admission location|(?:location|where) .*admi(?:tted|ssion)", "visit.ADMISSION_LOCATION", "admission"),
    Attribute("care ?unit", "event.CAREUNIT", "care unit"),
    Attribute(r"\bward\b", "event.WARDID", "ward"),
    Attribute("organism", "event.ORG_NAME", "organism"),
    Attribute(r"\bdose\b", "event.DOSE_VAL_RX", "drug"),
)
"""What can be asked for directly; the first whose words a question holds counts."""


@dataclass(frozen=True)
class Schema:
    """What the agent knows of one database."""

    kinds: Mapping[str, EventKind]
    """The kinds of events, by name."""
    attributes: tuple[Attribute, ...]
    icu_tables: frozenset[str]
    """Tables that know the stay in intensive care."""
    views: Mapping[str, str] = field(default_factory=dict)
    """Tables that the rules speak of and the database does not have: name -> query."""

    def kind_in(self, text: str) -> EventKind | None:
        """The kind of event that a text names."""
        for words, name in KIND_WORDS:
            if name in self.kinds and re.search(rf"\b(?:{words})", text):
                return self.kinds[name]
        return None

    def runnable(self, sql: str) -> str:
        """A query with the views that it needs."""
        needed = [f"{name} AS (\n{query}\n)" for name, query in self.views.items() if re.search(rf"\b{name}\b", sql)]
        return f"WITH {', '.join(needed)}\n{sql}" if needed else sql


MIMIC_III = Schema(EVENT_KINDS, ATTRIBUTES, frozenset({"CHARTEVENTS", "INPUTEVENTS_CV", "OUTPUTEVENTS", "ICUSTAYS", "TRANSFERS"}))
