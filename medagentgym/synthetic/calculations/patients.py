"""Made-up patients for calculations: a note in words, and the values that its words state.

What a note says is what counts: a creatinine written as 97 µmol/L has the value of 97 µmol/L in mg/dL, and not the number that it was drawn as.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal

Ages = Literal["adult", "child", "any"]
Facts = Mapping[str, Any]
"""Values by name, in the units of `medagentgym.synthetic.calculations.formulas`."""


@dataclass(frozen=True)
class Unit:
    """A unit in which a value may be written."""

    name: str
    factor: float
    """What one of it is in the unit of the formulas."""
    decimals: int
    offset: float = 0.0
    """Added after multiplying (for temperatures)."""


@dataclass(frozen=True)
class Measurement:
    """A value that is measured: what it is called, its range in the unit of the formulas, and the units in which notes give it."""

    names: tuple[str, ...]
    low: float
    high: float
    units: tuple[Unit, ...]


_MEQ = (Unit("mEq/L", 1, 0), Unit("mmol/L", 1, 0))
LABORATORY = {
    "sodium": Measurement(("sodium", "serum sodium"), 122, 158, _MEQ),
    "potassium": Measurement(("potassium", "serum potassium"), 2.9, 6.0, (Unit("mEq/L", 1, 1), Unit("mmol/L", 1, 1))),
    "chloride": Measurement(("chloride", "serum chloride"), 88, 114, _MEQ),
    "bicarbonate": Measurement(("bicarbonate", "serum bicarbonate"), 8, 22, _MEQ),
    "albumin": Measurement(("albumin", "serum albumin"), 1.8, 4.9, (Unit("g/dL", 1, 1), Unit("g/L", 0.1, 0))),
    "calcium": Measurement(("total calcium", "serum calcium"), 6.8, 12.9, (Unit("mg/dL", 1, 1), Unit("mmol/L", 4.008, 2))),
    "glucose": Measurement(("fasting glucose", "plasma glucose"), 62, 560, (Unit("mg/dL", 1, 0), Unit("mmol/L", 18.016, 1))),
    "urea_nitrogen": Measurement(("blood urea nitrogen", "BUN"), 6, 72, (Unit("mg/dL", 1, 0),)),
    "creatinine": Measurement(("creatinine", "serum creatinine"), 0.5, 5.4, (Unit("mg/dL", 1, 2), Unit("µmol/L", 1 / 88.42, 0))),
    "ast": Measurement(("aspartate aminotransferase", "AST"), 14, 290, (Unit("U/L", 1, 0),)),
    "alt": Measurement(("alanine aminotransferase", "ALT"), 12, 310, (Unit("U/L", 1, 0),)),
    "platelets": Measurement(("platelet count", "platelets"), 48, 420, (Unit("\u00d7 10^9/L", 1, 0), Unit("/µL", 0.001, -3))),
    "white_cells": Measurement(("white blood cell count", "leukocyte count"), 2.1, 22, (Unit("\u00d7 10^9/L", 1, 1), Unit("/mm³", 0.001, -2))),
    "total_cholesterol": Measurement(("total cholesterol",), 172, 318, (Unit("mg/dL", 1, 0), Unit("mmol/L", 38.67, 2))),
    "hdl": Measurement(("HDL cholesterol",), 26, 72, (Unit("mg/dL", 1, 0), Unit("mmol/L", 38.67, 2))),
    "triglycerides": Measurement(("triglycerides",), 54, 370, (Unit("mg/dL", 1, 0), Unit("mmol/L", 88.57, 2))),
    "insulin": Measurement(("fasting insulin", "insulin"), 3, 48, (Unit("µIU/mL", 1, 1),)),
    "urine_sodium": Measurement(("urine sodium",), 8, 130, _MEQ),
    "urine_creatinine": Measurement(("urine creatinine",), 18, 190, (Unit("mg/dL", 1, 0),)),
}
VITAL_SIGNS = {
    "heart_rate": Measurement(("heart rate", "pulse"), 46, 152, (Unit("beats/min", 1, 0), Unit("bpm", 1, 0))),
    "respiratory_rate": Measurement(("respiratory rate",), 10, 38, (Unit("breaths/min", 1, 0), Unit("/min", 1, 0))),
    "temperature": Measurement(("temperature",), 35.1, 40.3, (Unit("°C", 1, 1), Unit("°F", 5 / 9, 1, offset=-160 / 9))),
    "qt_interval": Measurement(("QT interval",), 310, 470, (Unit("ms", 1, 0), Unit("msec", 1, 0))),
}
_KILOGRAMS = (Unit("kg", 1, 1), Unit("kg", 1, 0), Unit("lb", 0.45359237, 0))
_CENTIMETRES = (Unit("cm", 1, 0), Unit("m", 100, 2), Unit("inches", 2.54, 0))
THRESHOLDS = {
    "temperature": ((36.0, 0.15), (38.0, 0.15)),
    "urea_nitrogen": ((19.0, 0.5),),
    "respiratory_rate": ((20.0, 0.5), (30.0, 0.5)),
    "heart_rate": ((90.0, 0.5),),
    "white_cells": ((4.0, 0.25), (12.0, 0.25)),
}
"""Values near to which a score could hang on how a unit is converted or a limit is read, and how near; they are not drawn."""

_COMPLAINTS = (
    "fatigue and poor appetite",
    "shortness of breath on exertion",
    "three days of vomiting",
    "swelling of both legs",
    "dizziness on standing",
    "fever and chills",
    "palpitations",
    "a routine visit before surgery",
)
_PLANS = (
    "Treatment was begun, and the laboratory tests are to be repeated in the morning.",
    "The family was informed, and the patient stays for observation.",
    "An ultrasound of the abdomen showed nothing abnormal.",
    "Further management was discussed with the team on call.",
)
_CONDITIONS = {
    "heart_failure": "congestive heart failure",
    "hypertension": "hypertension",
    "diabetes": "diabetes mellitus",
    "stroke": "stroke",
    "vascular_disease": "peripheral artery disease",
}
_SYMPTOMS = {
    "cough": ("The patient has a cough.", "There is no cough."),
    "exudate": ("The tonsils are covered with exudate.", "The tonsils show no exudate."),
    "nodes": ("The anterior cervical lymph nodes are swollen and tender.", "The anterior cervical lymph nodes are neither swollen nor tender."),
}
_MONTHS_IN_WORDS = ("%B {day}, %Y", "%m/%d/%Y")


def make_patient(needs: Collection[str], chance: random.Random, ages: Ages = "adult") -> tuple[str, Facts]:
    """A note that states all that `needs` names and some more, and what it states."""
    facts: dict[str, Any] = {}
    is_pregnancy = "last_period" in needs
    child = ages == "child" or (ages == "any" and chance.random() < 0.4)
    facts["sex"] = "female" if is_pregnancy else chance.choice(("male", "female"))
    facts["age"] = chance.randint(19, 41) if is_pregnancy else chance.randint(4, 14) if child else chance.randint(19, 89)
    parts = [
        _opening(facts, chance),
        _history(needs, facts, chance),
        _pregnancy(needs, facts, chance),
        _examination(needs, facts, chance, child=child),
        _symptoms(needs, facts, chance),
        _laboratory(needs, facts, chance),
        chance.choice(_PLANS),
    ]
    return " ".join(part for part in parts if part), facts


def _opening(facts: dict[str, Any], chance: random.Random) -> str:
    if facts["age"] < 18:
        person = {"male": "boy", "female": "girl"}[facts["sex"]]
    else:
        person = {"male": ("man", "male"), "female": ("woman", "female")}[facts["sex"]][chance.randint(0, 1)]
    article = "An" if str(facts["age"]).startswith(("8", "11", "18")) else "A"
    came = chance.choice(("presented with", "was admitted with", "was seen for"))
    return f"{article} {facts['age']}-year-old {person} {came} {chance.choice(_COMPLAINTS)}."


def _history(needs: Collection[str], facts: dict[str, Any], chance: random.Random) -> str:
    if not any(name in needs for name in _CONDITIONS):
        return chance.choice(("", "The patient takes no regular medication.", "There are no known allergies."))
    present: list[str] = []
    absent: list[str] = []
    for name, words in _CONDITIONS.items():
        facts[name] = chance.random() < 0.4
        (present if facts[name] else absent).append(words)
    said = [f"The medical history includes {_listing(present, 'and')}." if present else "", f"There is no history of {_listing(absent, 'or')}."]
    return " ".join(part for part in said[: 2 if absent else 1] if part)


def _pregnancy(needs: Collection[str], facts: dict[str, Any], chance: random.Random) -> str:
    if "last_period" not in needs:
        return ""
    facts["last_period"] = date(2004, 1, 1) + timedelta(days=chance.randint(0, 20 * 365))
    words = [f"Her last menstrual period began on {_date(facts['last_period'], chance)}."]
    if "cycle" in needs:
        facts["cycle"] = chance.randint(23, 34)
        words.append(f"Her periods are regular, with a cycle of {facts['cycle']} days.")
    if "today" in needs:
        facts["today"] = facts["last_period"] + timedelta(days=chance.randint(30, 275))
        words.append(f"She is seen today, on {_date(facts['today'], chance)}.")
    return " ".join(words)


def _examination(needs: Collection[str], facts: dict[str, Any], chance: random.Random, *, child: bool) -> str:
    words = []
    if "weight" in needs or "height" in needs or chance.random() < 0.4:
        height = 60 + 7 * facts["age"] + chance.uniform(-6, 6) if child else chance.gauss(176 if facts["sex"] == "male" else 164, 7)
        index = chance.uniform(14, 19) if child else chance.uniform(17, 38)
        facts["height"], shown_height = _written(height, chance.choice(_CENTIMETRES))
        facts["weight"], shown_weight = _written(index * (height / 100) ** 2, chance.choice(_KILOGRAMS))
        words.append(
            f"The patient weighs {shown_weight} and is {shown_height} tall."
            if chance.random() < 0.5
            else f"Height was {shown_height} and weight was {shown_weight}."
        )
    if "target_index" in needs:
        facts["target_index"] = round(chance.uniform(19, 25), 1)
        words.append(f"The goal is a body mass index of {facts['target_index']:g} kg/m².")
    signs = []
    if "systolic" in needs or chance.random() < 0.6:
        facts["systolic"] = chance.choice([*range(74, 90), *range(91, 188)])
        facts["diastolic"] = int(facts["systolic"] * chance.uniform(0.5, 0.66))
        while facts["diastolic"] in (60, 61):
            facts["diastolic"] -= 2
        signs.append(f"blood pressure {facts['systolic']}/{facts['diastolic']} mmHg")
    for name, measurement in VITAL_SIGNS.items():
        if name in needs or (name != "qt_interval" and chance.random() < 0.5):
            signs.append(_said(name, measurement, facts, chance))
    if signs:
        words.append(f"{chance.choice(('On examination', 'Vital signs on admission were', 'Findings were'))}: {_listing(signs, 'and')}.")
    return " ".join(words)


def _symptoms(needs: Collection[str], facts: dict[str, Any], chance: random.Random) -> str:
    words = []
    if "confusion" in needs:
        facts["confusion"] = chance.random() < 0.5
        words.append("The patient is confused." if facts["confusion"] else "The patient is alert and fully oriented, without confusion.")
    for name, (present, absent) in _SYMPTOMS.items():
        if name in needs:
            facts[name] = chance.random() < 0.5
            words.append(present if facts[name] else absent)
    return " ".join(words)


def _laboratory(needs: Collection[str], facts: dict[str, Any], chance: random.Random) -> str:
    asked = [name for name in LABORATORY if name in needs]
    others = [name for name in LABORATORY if name not in needs and not name.startswith("urine_") and chance.random() < 0.2]
    names = [*asked, *others]
    if not names:
        return ""
    chance.shuffle(names)
    tests = [_said(name, LABORATORY[name], facts, chance) for name in names]
    return f"{chance.choice(('Laboratory tests showed', 'Blood and urine tests gave', 'Results were as follows:'))} {_listing(tests, 'and')}."


def _said(name: str, measurement: Measurement, facts: dict[str, Any], chance: random.Random) -> str:
    value = chance.uniform(measurement.low, measurement.high)
    while any(abs(value - limit) <= near for limit, near in THRESHOLDS.get(name, ())):
        value = chance.uniform(measurement.low, measurement.high)
    facts[name], shown = _written(value, chance.choice(measurement.units))
    return f"{chance.choice(measurement.names)} {chance.choice(('', 'of '))}{shown}"


def _written(value: float, unit: Unit) -> tuple[float, str]:
    """A value as a note gives it: what it then is in the unit of the formulas, and the words."""
    number = round((value - unit.offset) / unit.factor, unit.decimals)
    shown = f"{number:,.0f}" if unit.decimals <= 0 else f"{number:.{unit.decimals}f}"
    space = "" if unit.name.startswith("/") else " "
    return number * unit.factor + unit.offset, f"{shown}{space}{unit.name}"


def _date(day: date, chance: random.Random) -> str:
    return day.strftime(chance.choice(_MONTHS_IN_WORDS)).format(day=day.day)


def _listing(items: list[str], word: str) -> str:
    return f" {word} ".join(part for part in (", ".join(items[:-1]), *items[-1:]) if part)
