"""Conditions on patients: as SQL, and in words.

A wording stands before the word "patients" or after it. Values are spoken as the tables write them, in lower case, unless the kind has words of its
own.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from medagentgym.synthetic.treqs.admissions import Admission

Place = Literal["before", "after"]


@dataclass(frozen=True)
class Condition:
    """A condition that was drawn."""

    table: str
    column: str
    sign: str
    value: str
    place: Place
    words: str

    @property
    def sql(self) -> str:
        """The condition as TREQS writes it."""
        return f'{self.table}."{self.column}" {self.sign} "{self.value}"'


@dataclass(frozen=True)
class ConditionKind:
    """A column that a condition may be about, and how one speaks of it."""

    table: str
    column: str
    before: tuple[str, ...] = ()
    """Wordings with `{}` for the value."""
    after: tuple[str, ...] = ()
    sign: str = "="
    spoken: Mapping[str, str] = field(default_factory=dict)
    """Words for single values."""
    bound: Callable[[Any, random.Random], int] | None = None
    """A limit that a number meets; None: the value itself."""
    written: Callable[[Any], str] = str

    def draw(self, admission: Admission, row: Mapping[str, Any], rng: random.Random) -> Condition | None:
        """A condition that `row` of the admission meets, or None where it holds nothing in the column."""
        value = row[self.column]
        if value is None:
            return None
        limit = value if self.bound is None else self.bound(value, rng)
        words = self.spoken.get(str(limit), str(limit).lower())
        place, wording = rng.choice([("before", wording) for wording in self.before] + [("after", wording) for wording in self.after])
        return Condition(self.table, self.column, self.sign, self.written(limit), "before" if place == "before" else "after", wording.format(words))


def _above(value: Any, rng: random.Random) -> int:
    return int(value) + rng.randint(1, 25)


def _soon_after(value: Any, rng: random.Random) -> int:
    return int(value) + rng.randint(1, 3)


def _up_to(value: Any, rng: random.Random) -> int:
    return int(value) + rng.randint(0, 2)


def _below(value: Any, rng: random.Random) -> int:
    return max(0, int(value) - rng.randint(1, 12))


def _down_to(value: Any, rng: random.Random) -> int:
    return int(value) - rng.randint(0, 2)


def _before_year(value: Any, rng: random.Random) -> int:
    return int(value) - rng.randint(1, 20)


def _with_decimal(value: Any) -> str:
    return f"{float(value):.1f}"


CONDITIONS: tuple[ConditionKind, ...] = (
    ConditionKind("DEMOGRAPHIC", "GENDER", ("{}",), ("who are {}", "whose gender is {}"), spoken={"F": "female", "M": "male"}),
    ConditionKind("DEMOGRAPHIC", "MARITAL_STATUS", ("{}",), ("who are {}", "whose marital status is {}")),
    ConditionKind("DEMOGRAPHIC", "AGE", (), ("aged below {}", "younger than {} years", "under the age of {}", "who are less than {} years old"),
                  sign="<", bound=_above),
    ConditionKind("DEMOGRAPHIC", "AGE", (), ("aged {} or older", "who are {} years of age or more", "whose age is at least {}"),
                  sign=">=", bound=_down_to),
    ConditionKind("DEMOGRAPHIC", "DOB_YEAR", (), ("born before {}", "who were born before the year {}", "whose year of birth is before {}"),
                  sign="<", bound=_above),
    ConditionKind("DEMOGRAPHIC", "DOB_YEAR", (), ("born after {}", "who were born after the year {}"), sign=">", bound=_before_year),
    ConditionKind("DEMOGRAPHIC", "DOD_YEAR", (), ("who died in or before {}", "whose year of death is {} or earlier"),
                  sign="<=", bound=_up_to, written=_with_decimal),
    ConditionKind("DEMOGRAPHIC", "ADMITYEAR", (),
                  ("admitted before {}", "who were admitted before the year {}", "who came to the hospital before {}"),
                  sign="<", bound=_soon_after),
    ConditionKind("DEMOGRAPHIC", "ADMITYEAR", (), ("admitted in or after {}", "who were admitted in {} or later"), sign=">=", bound=_down_to),
    ConditionKind("DEMOGRAPHIC", "DAYS_STAY", (), ("who stayed in the hospital for more than {} days", "with a hospital stay of over {} days",
                  "hospitalised for more than {} days"), sign=">", bound=_below),
    ConditionKind("DEMOGRAPHIC", "DAYS_STAY", (), ("who stayed in the hospital for exactly {} days", "with a stay of {} days"), sign="="),
    ConditionKind("DEMOGRAPHIC", "EXPIRE_FLAG", ("{}",), ("who are {}", "whose death status is {}"), spoken={"1": "dead", "0": "alive"}),
    ConditionKind("DEMOGRAPHIC", "LANGUAGE", ("{} speaking",), ("who speak {}", "whose language is {}"),
                  spoken={"ENGL": "english", "SPAN": "spanish", "RUSS": "russian", "PTUN": "portuguese", "CANT": "cantonese"}),
    ConditionKind("DEMOGRAPHIC", "RELIGION", (), ("whose religion is {}", "of {} religion", "with the religious background {}")),
    ConditionKind("DEMOGRAPHIC", "ETHNICITY", (), ("of {} ethnicity", "whose ethnicity is {}", "of {} ethnic origin")),
    ConditionKind("DEMOGRAPHIC", "INSURANCE", (), ("with {} insurance", "whose insurance is {}", "insured by {}")),
    ConditionKind("DEMOGRAPHIC", "ADMISSION_TYPE", (), ("whose admission type is {}", "with admission type {}", "on {} admission")),
    ConditionKind("DEMOGRAPHIC", "ADMISSION_LOCATION", (), ("whose admission location is {}", "admitted through {}", "with admission location {}")),
    ConditionKind("DEMOGRAPHIC", "DISCHARGE_LOCATION", (), ("discharged to {}", "whose discharge location is {}", "with discharge location {}")),
    ConditionKind("DEMOGRAPHIC", "DIAGNOSIS", (), ("whose primary disease is {}", "with primary disease {}", "with a primary disease of {}")),
    ConditionKind("DIAGNOSES", "SHORT_TITLE", (), ("diagnosed with {}", "whose diagnosis short title is {}", "who had the diagnosis {}")),
    ConditionKind("DIAGNOSES", "LONG_TITLE", (), ("diagnosed with {}", "whose diagnosis long title is {}", "suffering from {}")),
    ConditionKind("DIAGNOSES", "ICD9_CODE", (), ("whose diagnosis icd9 code is {}", "with diagnosis icd9 code {}",
                  "diagnosed under the icd9 code {}")),
    ConditionKind("PROCEDURES", "SHORT_TITLE", (), ("who underwent {}", "whose procedure short title is {}", "who had the procedure {}")),
    ConditionKind("PROCEDURES", "LONG_TITLE", (), ("who underwent {}", "whose procedure long title is {}", "with the procedure {}")),
    ConditionKind("PROCEDURES", "ICD9_CODE", (), ("whose procedure icd9 code is {}", "with procedure icd9 code {}")),
    ConditionKind("PRESCRIPTIONS", "DRUG", (), ("prescribed {}", "who were given the drug {}", "whose drug name is {}", "treated with {}")),
    ConditionKind("PRESCRIPTIONS", "FORMULARY_DRUG_CD", (), ("whose drug code is {}", "with drug code {}", "given drugs of the code {}")),
    ConditionKind("PRESCRIPTIONS", "ROUTE", (), ("whose drug route is {}", "given drugs via the route {}", "with drug route {}")),
    ConditionKind("PRESCRIPTIONS", "DRUG_TYPE", (), ("whose drug type is {}", "with drugs of type {}", "prescribed {} type drugs")),
    ConditionKind("LAB", "LABEL", (), ("who had the lab test {}", "whose lab test name is {}", "tested for {}")),
    ConditionKind("LAB", "ITEMID", (), ("whose lab test item id is {}", "with lab item id {}")),
    ConditionKind("LAB", "FLAG", (), ("whose lab test status is {}", "with {} lab test status")),
    ConditionKind("LAB", "FLUID", (), ("whose lab test fluid is {}", "with lab tests of the fluid {}")),
    ConditionKind("LAB", "CATEGORY", (), ("whose lab test category is {}", "with lab tests of the category {}")),
)  # fmt: skip
"""Every kind of condition."""
