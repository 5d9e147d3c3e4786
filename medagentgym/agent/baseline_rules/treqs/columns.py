"""The columns of the five tables: what they are called in questions, and the words beside which a value of one stands."""

from __future__ import annotations

import re
from dataclasses import dataclass

TABLES = ("DEMOGRAPHIC", "DIAGNOSES", "PROCEDURES", "PRESCRIPTIONS", "LAB")

_DIAGNOSED = r"\bdiagnos\w*|\bsuffer\w*|\bicd|\bhad?s?\b|\bhave\b|\bcomplain\w*|\bdisease"
_OPERATED = r"\bprocedur\w*|\bunderw\w*|\bundergo\w*|\bsurg\w*|\boperat\w*|\bicd|\bhad?s?\b|\bhave\b"
_DRUG = r"\bdrugs?\b|\bprescri\w*|\bmedic(?:ine|ation)s?\b|\bgiven\b|\btreated\b|\btak(?:e|es|en|ing)\b|\breceiv\w*|\bon\b|\bdose"
_LAB = r"\blab\w*|\btest\w*|\bmeasure\w*"


@dataclass(frozen=True)
class Column:
    """A column of text."""

    table: str
    name: str
    called: str
    """Pattern of what the column is called."""
    cue: str = ""
    """Pattern of words that stand near a value of it, besides its name."""
    needs_cue: bool = True
    """Whether a value counts only beside such a word; else wherever it stands."""

    def is_near(self, before: str, after: str) -> int:
        """How strongly the words on both sides of a value speak for this column: 2 its name, 1 a cue, 0 nothing."""
        if re.search(self.called, before) or re.match(rf"\W*(?:{self.called})", after):
            return 2
        return int(bool(self.cue) and bool(re.search(self.cue, before) or re.match(rf"\W*(?:\w+ )?(?:{self.cue})", after)))


COLUMNS = (
    Column("DEMOGRAPHIC", "NAME", r"\bnames?\b", needs_cue=False),
    Column("DEMOGRAPHIC", "MARITAL_STATUS", r"\bmarital status\b|\bmarital state\b", needs_cue=False),
    Column("DEMOGRAPHIC", "LANGUAGE", r"\blanguages?\b", r"\bspeak\w*|\bspoke\w*"),
    Column(
        "DEMOGRAPHIC", "RELIGION", r"\breligio(?:n|us\w*(?: background| belief)?)\b|\bfaith\b|\bbelief\b", r"\bfollow\w*|\bbeliev\w*", needs_cue=False
    ),
    Column("DEMOGRAPHIC", "ADMISSION_TYPE", r"\badmission type\b|\btype of admission\b", r"\badmi\w+", needs_cue=False),
    Column("DEMOGRAPHIC", "INSURANCE", r"\binsurances?\b|\binsured\b", r"\bcover\w*", needs_cue=False),
    Column("DEMOGRAPHIC", "ETHNICITY", r"\bethnic\w*(?: group| origin| background)?\b|\brace\b", r"\borigin\b", needs_cue=False),
    Column("DEMOGRAPHIC", "ADMISSION_LOCATION", r"\badmission location\b|\blocation of admission\b", r"\badmi\w+", needs_cue=False),
    Column("DEMOGRAPHIC", "DISCHARGE_LOCATION", r"\bdischarge location\b|\blocation of discharge\b", r"\bdischarge\w*"),
    Column("DEMOGRAPHIC", "DIAGNOSIS", r"\bprimary (?:disease|diagnosis|illness|condition)\b", r"\bdisease\b|\bfor\b"),
    Column(
        "DIAGNOSES", "LONG_TITLE", r"\bdiagnos[ei]s?\w*(?: disease)? long title\b|\blong title of (?:the )?diagnosis\b", _DIAGNOSED, needs_cue=False
    ),
    Column(
        "DIAGNOSES",
        "SHORT_TITLE",
        r"\bdiagnos[ei]s?\w*(?: disease)? short title\b|\bshort title of (?:the )?diagnosis\b",
        _DIAGNOSED,
        needs_cue=False,
    ),
    Column(
        "DIAGNOSES",
        "ICD9_CODE",
        r"\bdiagnos\w*(?: under(?: the)?| with(?: the)?)? icd ?-?9?(?: code)?\b|\bdiagnos\w* code\b",
        r"\bicd ?-?9?(?: code)?\b",
    ),
    Column("PROCEDURES", "LONG_TITLE", r"\bprocedures? long title\b|\blong title of (?:the )?procedure\b", _OPERATED, needs_cue=False),
    Column("PROCEDURES", "SHORT_TITLE", r"\bprocedures? short title\b|\bshort title of (?:the )?procedure\b", _OPERATED, needs_cue=False),
    Column(
        "PROCEDURES",
        "ICD9_CODE",
        r"\bprocedur\w*(?: under(?: the)?| with(?: the)?)? icd ?-?9?(?: code)?\b|\bprocedure code\b",
        r"\bicd ?-?9?(?: code)?\b",
    ),
    Column("PRESCRIPTIONS", "DRUG", r"\bdrug names?\b|\bname of the drug\b", _DRUG, needs_cue=False),
    Column("PRESCRIPTIONS", "DRUG_TYPE", r"\bdrug types?\b|\btypes? of (?:the )?drugs?\b|\bdrugs of (?:the )?type\b", r"\btype\b"),
    Column(
        "PRESCRIPTIONS",
        "FORMULARY_DRUG_CD",
        r"\b(?:formulary )?drug codes?\b|\bcodes? of (?:the )?drugs?\b|\bdrugs of (?:the )?code\b",
        _DRUG,
        needs_cue=False,
    ),
    Column("PRESCRIPTIONS", "ROUTE", r"\b(?:drug )?routes?(?: of (?:the )?(?:drug )?administration)?\b", r"\bvia\b|\badminist\w*|\bthrough\b"),
    Column("LAB", "LABEL", r"\blab(?:oratory)? tests? (?:names?|labels?)\b", _LAB, needs_cue=False),
    Column("LAB", "ITEMID", r"\bitem ?ids?\b", r"\bitem\b"),
    Column("LAB", "FLAG", r"\blab(?:oratory)? tests? (?:status|flag|result)\b", _LAB),
    Column("LAB", "FLUID", r"\bfluids?\b", _LAB),
    Column("LAB", "CATEGORY", r"\bcategor(?:y|ies)\b", _LAB),
)
"""The columns whose values are looked for in a question; of two that fit alike the first counts."""

ASKED: tuple[tuple[str, str, str], ...] = (
    (
        "DEMOGRAPHIC",
        "DAYS_STAY",
        r"\b(?:length of (?:hospital )?stay(?: in days)?|(?:number of )?days (?:of|in|spent in)(?: the)? hospital(?: stay)?"
        r"|days stayed|days of stay|stay in days)\b",
    ),
    ("DEMOGRAPHIC", "DOB", r"\b(?:date of birth|birth ?date|dob|born)\b"),
    ("DEMOGRAPHIC", "DOD", r"\b(?:date of death|death ?date|dod)\b"),
    ("DEMOGRAPHIC", "EXPIRE_FLAG", r"\b(?:death status|vital status|dead or alive|alive or dead)\b"),
    ("DEMOGRAPHIC", "AGE", r"\b(?:age|how old)\b"),
    ("DEMOGRAPHIC", "GENDER", r"\b(?:gender|sex)\b"),
    ("DEMOGRAPHIC", "ADMITTIME", r"\b(?:admission (?:time|date)|(?:time|date) of admission|admit ?time|time of admit)\b"),
    ("DEMOGRAPHIC", "DISCHTIME", r"\b(?:discharge (?:time|date)|(?:time|date) of discharge)\b"),
    ("PRESCRIPTIONS", "DRUG_DOSE", r"\b(?:drug dos(?:e|age)|dos(?:e|age) of (?:the )?drug|dos(?:e|age))\b"),
    ("LAB", "VALUE_UNIT", r"\b(?:lab(?:oratory)? (?:test )?(?:values?|results?)|values? of (?:the )?lab(?:oratory)? tests?)\b"),
    ("LAB", "CHARTTIME", r"\b(?:lab(?:oratory)? (?:test )?(?:chart )?time|chart time)\b"),
    *((column.table, column.name, column.called) for column in COLUMNS if column.name != "NAME"),
)
"""Table, column and pattern of what may be asked of a patient; the more particular first."""

ASKED_BY_TABLE: tuple[tuple[str, str, str], ...] = (
    ("DIAGNOSES", "LONG_TITLE", r"\bdiagnos[ei]s\b"),
    ("PROCEDURES", "LONG_TITLE", r"\bprocedures?\b"),
    ("PRESCRIPTIONS", "DRUG", r"\b(?:drugs?|medications?|medicines?)\b"),
    ("LAB", "LABEL", r"\blab(?:oratory)? tests?\b"),
    ("DEMOGRAPHIC", "NAME", r"\bnames?\b"),
)
"""The same, where no column of the table is named."""
