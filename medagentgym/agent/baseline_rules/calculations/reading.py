"""Facts out of a patient note: rules of clinical English.

Of several values of one thing the first that a person can have is taken. Values are given in the units that are customary in the US: mg/dL, mEq/L,
g/dL, 10^9/L, kg, cm, °C.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Any

_NUMBER = r"(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
_BETWEEN = r"[^.;:\d]{0,30}?:?[^.;:\d]{0,12}?"
_TEN_TO_THE_NINE = r"(?:[x*\u00d7]\s*10\s*\^?\s*(?:9|\u2079)\s*/\s*l|k/u?l|\u00d7 ?109/l)"
_PER_MICROLITRE = r"/\s*(?:[uµμ]l|mm(?:\^?3|³)|cubic millimet)"


@dataclass(frozen=True)
class Quantity:
    """Something that is measured: the words for it, what a person can have, and its units, the first of which is taken where none is written."""

    words: str
    low: float
    high: float
    units: tuple[tuple[str, float], ...]


_MEQ = ((r"m?eq/l|mmol/l|mm\b", 1.0),)
_MG = r"mg/dl|mg%"
_MMOL = r"mmol/l"
QUANTITIES = {
    "sodium": Quantity(r"(?<!urine )(?<!urinary )(?:sodium|\bna\+?)(?! excretion)", 90, 200, _MEQ),
    "chloride": Quantity(r"chloride|\bcl\b", 60, 160, _MEQ),
    "bicarbonate": Quantity(r"bicarbonate|\bhco3\b|\bhco₃", 2, 60, _MEQ),
    "albumin": Quantity(r"albumin", 0.5, 7, ((r"g/dl", 1.0), (r"g/l", 0.1))),
    "calcium": Quantity(r"calcium", 3, 25, ((_MG, 1.0), (_MMOL, 4.008))),
    "glucose": Quantity(r"glucose|blood sugar", 10, 2000, ((_MG, 1.0), (_MMOL, 18.016))),
    "urea_nitrogen": Quantity(r"blood urea nitrogen|\bbun\b|urea nitrogen", 1, 250, ((_MG, 1.0), (_MMOL, 2.801))),
    "creatinine": Quantity(r"(?<!urine )(?<!urinary )creatinine(?! clearance)", 0.1, 30, ((_MG, 1.0), (r"[uµμ]mol/l", 1 / 88.42))),
    "urine_sodium": Quantity(r"(?:urine|urinary) sodium", 1, 400, _MEQ),
    "urine_creatinine": Quantity(r"(?:urine|urinary) creatinine", 1, 600, ((_MG, 1.0), (r"mmol/l", 11.312))),
    "ast": Quantity(r"aspartate (?:amino)?transaminase|aspartate aminotransferase|\bast\b", 1, 20000, ((r"i?u/l", 1.0),)),
    "alt": Quantity(r"alanine (?:amino)?transaminase|alanine aminotransferase|\balt\b", 1, 20000, ((r"i?u/l", 1.0),)),
    "platelets": Quantity(r"platelets?(?: count)?", 1, 2000, ((_TEN_TO_THE_NINE, 1.0), (_PER_MICROLITRE, 0.001))),
    "white_cells": Quantity(
        r"white (?:blood )?cells?(?: count)?|leu[ck]ocytes?(?: count)?|\bwbc\b", 0.1, 400, ((_TEN_TO_THE_NINE, 1.0), (_PER_MICROLITRE, 0.001))
    ),
    "total_cholesterol": Quantity(r"total cholesterol", 40, 900, ((_MG, 1.0), (_MMOL, 38.67))),
    "hdl": Quantity(r"high[- ]density lipoprotein|\bhdl(?:-c)?\b", 5, 200, ((_MG, 1.0), (_MMOL, 38.67))),
    "triglycerides": Quantity(r"triglycerides?", 10, 5000, ((_MG, 1.0), (_MMOL, 88.57))),
    "insulin": Quantity(r"insulin", 0.5, 400, ((r"[uµμ]i?u/ml|m?i?u/l", 1.0), (r"pmol/l", 1 / 6))),
    "heart_rate": Quantity(r"heart rate|pulse(?: rate)?|\bhr\b", 20, 300, ((r"", 1.0),)),
    "respiratory_rate": Quantity(r"respiratory rate|respirations?|breathing rate|\brr\b", 4, 80, ((r"", 1.0),)),
    "qt_interval": Quantity(r"qt interval|\bqt\b", 150, 800, ((r"m(?:illi)?s(?:ec(?:onds)?)?", 1.0),)),
    "target_index": Quantity(r"body mass index|\bbmi\b", 10, 60, ((r"kg/m", 1.0),)),
}
_TEMPERATURES = ((r"°\s*c|degrees? c|celsius|\bc\b", False), (r"°\s*f|degrees? f|fahrenheit|\bf\b", True))
_LENGTHS = ((r"cm|centimet", 1.0), (r"m\b|met(?:er|re)", 100.0), (r"in(?:ches|\b)|\"", 2.54), (r"ft\b|feet|foot", 30.48))
_WEIGHTS = ((r"kg|kilogram", 1.0), (r"lbs?\b|pounds?", 0.45359237), (r"g\b|grams?", 0.001))
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
_DATE = re.compile(rf"(\d{{1,2}})/(\d{{1,2}})/(\d{{4}})|({'|'.join(_MONTHS)}) (\d{{1,2}}),? (\d{{4}})", re.IGNORECASE)
_DENIAL = re.compile(r"\b(?:no|not|denie[sd]|without|neither|negative for|absence of|never|free of)\b", re.IGNORECASE)

FINDINGS = {
    "heart_failure": r"heart failure|\bchf\b|cardiac failure",
    "hypertension": r"hypertension|hypertensive|high blood pressure",
    "diabetes": r"diabet",
    "stroke": r"\bstroke|transient isch[ae]+mic attack|\btia\b|thromboembol|cerebral infarction",
    "vascular_disease": r"myocardial infarction|peripheral arter|peripheral vascular|aortic plaque|coronary artery disease",
    "confusion": r"confus|disorient|altered mental status",
    "cough": r"\bcough",
    "exudate": r"exudat|tonsillar swelling|swollen tonsils",
    "nodes": r"(?:tender|swollen)[^.]*(?:lymph )?nodes?|(?:lymph )?nodes?[^.]*(?:tender|swollen)|cervical lymphadenopathy",
}


def read_note(note: str) -> dict[str, Any]:
    """What a note says, by name; what it does not say is not there. Findings are there only where the note speaks of them."""
    facts: dict[str, Any] = {}
    for name, value in (
        ("age", _age(note)),
        ("is_female", _is_female(note)),
        ("temperature", _temperature(note)),
        ("weight", _body(note, r"weigh(?:ed|s|t|ing)?", _WEIGHTS, 1, 350)),
        ("height", _body(note, r"height|tall|stature", _LENGTHS, 30, 250)),
        *((name, _quantity(note, quantity)) for name, quantity in QUANTITIES.items()),
        *((name, _finding(note, pattern)) for name, pattern in FINDINGS.items()),
    ):
        if value is not None:
            facts[name] = value
    pressure = re.search(r"(?:blood pressure|\bbp\b)[^.;]{0,40}?(\d{2,3})\s*/\s*(\d{2,3})", note, re.IGNORECASE)
    pressure = pressure or re.search(r"\b(\d{2,3})\s*/\s*(\d{2,3})\s*mm\s?hg", note, re.IGNORECASE)
    if pressure is not None:
        facts |= {"systolic": int(pressure[1]), "diastolic": int(pressure[2])}
    return facts | _pregnancy(note)


def _quantity(note: str, quantity: Quantity) -> float | None:
    for match in re.finditer(rf"(?:{quantity.words}){_BETWEEN}{_NUMBER}\s*(?P<unit>[^\s,;()]*(?: ?\d+\s*\^?\s*\S*)?)", note, re.IGNORECASE):
        written = float(match["number"].replace(",", ""))
        rest = note[match.end("number") :][:25].strip().lower()
        factor = next((factor for unit, factor in quantity.units if unit and re.match(rf"(?:{unit})", rest)), None)
        for value in (written * (quantity.units[0][1] if factor is None else factor), written * quantity.units[-1][1] if factor is None else -1):
            if quantity.low <= value <= quantity.high:
                return round(value, 6)
    return None


def _age(note: str) -> float | None:
    match = re.search(r"(\d+(?:\.\d+)?)[- ](year|month|week|day)s?[- ]old|\baged? (\d+)|(\d+) years? of age", note, re.IGNORECASE)
    if match is None:
        return None
    number = float(match[1] or match[3] or match[4])
    years = number / {"year": 1, "month": 12, "week": 52.18, "day": 365.25}[(match[2] or "year").lower()]
    return int(years) if years >= 1 else round(years, 4)


def _is_female(note: str) -> bool | None:
    match = re.search(r"\b(?:(woman|female|girl|lady|she|her|mother)|(man|male|boy|gentleman|he|his|father))\b", note, re.IGNORECASE)
    return None if match is None else match[1] is not None


def _temperature(note: str) -> float | None:
    for match in re.finditer(rf"(?:temperature|\btemp\b|fever|febrile){_BETWEEN}{_NUMBER}", note, re.IGNORECASE):
        written = float(match["number"])
        rest = note[match.end("number") :][:15].strip().lower()
        fahrenheit = next((is_fahrenheit for unit, is_fahrenheit in _TEMPERATURES if re.match(rf"(?:{unit})", rest)), written > 60)
        celsius = (written - 32) * 5 / 9 if fahrenheit else written
        if 30 <= celsius <= 44:
            return round(celsius, 4)
    return None


def _body(note: str, words: str, units: tuple[tuple[str, float], ...], low: float, high: float) -> float | None:
    """A length or weight beside its word: `height was 5 ft 7 in`, `is 170 cm tall`."""
    names = "|".join(unit for unit, _ in units)
    measure = rf"(\d+(?:\.\d+)?)\s*({names})"
    found = re.search(rf"\b(?:{words})\b[^.;\d]{{0,25}}?(?:{measure})(?:\s*{measure})?", note, re.IGNORECASE)
    found = found or re.search(rf"(?:{measure})(?:\s*{measure})?[^.;\d]{{0,10}}\b(?:{words})\b", note, re.IGNORECASE)
    if found is None:
        return None
    total = 0.0
    for number, unit in ((found[1], found[2]), (found[3], found[4])):
        if number is not None and unit is not None:
            total += float(number) * next(factor for pattern, factor in units if re.fullmatch(rf"(?:{pattern})", unit, re.IGNORECASE))
    return round(total, 4) if low <= total <= high else None


def _finding(note: str, pattern: str) -> bool | None:
    """Whether a finding is there: True where any sentence states it, False where all that speak of it deny it."""
    sentences = [sentence for sentence in re.split(r"(?<=[.;])\s", note) if re.search(pattern, sentence, re.IGNORECASE)]
    return any(not _DENIAL.search(sentence) for sentence in sentences) if sentences else None


def _pregnancy(note: str) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    last = re.search(rf"(?:last menstrual period|\blmp\b|last period)[^.]*?(?:{_DATE.pattern})", note, re.IGNORECASE)
    if last is None:
        return facts
    facts["last_period"] = _as_date(last.groups())
    others = [_as_date(match.groups()) for match in _DATE.finditer(note[last.end() :])] + [_as_date(match.groups()) for match in _DATE.finditer(note)]
    today = next((day for day in others if day is not None and facts["last_period"] is not None and day > facts["last_period"]), None)
    cycle = re.search(r"cycle[^.\d]{0,40}?(\d{2})[- ]?days?|(\d{2})[- ]days?[- ](?:\w+ )?cycle", note, re.IGNORECASE)
    facts |= {"today": today} if today is not None else {}
    facts |= {"cycle": int(cycle[1] or cycle[2])} if cycle is not None else {}
    return {name: value for name, value in facts.items() if value is not None}


def _as_date(groups: tuple[str | None, ...]) -> date | None:
    month, day, year, name, named_day, named_year = groups[-6:]
    try:
        if month is not None:
            return date(int(year or 0), int(month), int(day or 0))
        return date(int(named_year or 0), _MONTHS.index(str(name).lower()) + 1, int(named_day or 0))
    except ValueError:
        return None
