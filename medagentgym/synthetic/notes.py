"""Made-up discharge notes about the made-up patients, some of whose statements contradict the tables.

A note is a few sections of plain sentences. Each sentence is about one entity (a laboratory test, a drug, a diagnosis, a procedure) and says one or
two things of it that can be looked up: a value at a time, a dose from a day on, that a diagnosis was coded. Where an inconsistency is planted, one
thing that the sentence says is changed until no row of the tables agrees with it; everything else agrees. Nobody described here exists, and the notes
are good for trying a workflow, not for clinical work.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from medagentgym.built_data import Mode
from medagentgym.config import SyntheticConfig
from medagentgym.errors import UserError
from medagentgym.synthetic.chance import python_random
from medagentgym.synthetic.clock import DAY, moment
from medagentgym.synthetic.cohort import Admission, make_cohort
from medagentgym.synthetic.dictionaries import DRUGS, LAB_TESTS
from medagentgym.synthetic.facts import Facts, Rows
from medagentgym.synthetic.tables import raw_tables

NOTE_COLUMNS = ("ROW_ID", "SUBJECT_ID", "HADM_ID", "CHARTDATE", "CATEGORY", "TEXT")

SHARE_OF_ERRORS = 0.35
"""Chance that a sentence gets an inconsistency."""

_SECTIONS = {"LABEVENTS": "Laboratory", "PRESCRIPTIONS": "Medication", "DIAGNOSES_ICD": "Diagnoses", "PROCEDURES_ICD": "Procedures"}
_SENTENCES_A_SECTION = 3


@dataclass(frozen=True)
class Statement:
    """One thing that a note says, and how the tables are asked whether it holds."""

    text: str
    condition: str
    """SQL of a row that agrees with it, after `SELECT count(*) FROM`, with `?` for the parameters."""
    parameters: tuple[Any, ...]
    is_wrong: bool


@dataclass(frozen=True)
class Sentence:
    """What a note says of one entity."""

    entity: str
    text: str
    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class MadeUpNotes:
    """Notes, and the questions about them."""

    notes: list[tuple[Any, ...]]
    """Rows of `NOTE_COLUMNS`."""
    tasks: dict[Mode, list[dict[str, Any]]]
    """Rows in the form of the published task files, with `checks`: what the reference program looks up."""


@lru_cache(maxsize=1)
def make_notes(config: SyntheticConfig) -> MadeUpNotes:
    """Notes on the patients of `config`, with `config.train` and `config.test` questions about different admissions.

    Raises `UserError` where there are too few admissions.
    """
    cohort = make_cohort(config.patients, config.seed)
    facts = Facts(cohort)
    for name, table in raw_tables(cohort, config.seed):
        facts.take(name, table)
    rng = python_random(config.seed, "notes")
    admissions = [admission for admission in facts.admissions if admission.end is not None]
    rng.shuffle(admissions)
    notes: list[tuple[Any, ...]] = []
    tasks: dict[Mode, list[dict[str, Any]]] = {"test": [], "train": []}
    source = iter(admissions)
    wanted: dict[Mode, int] = {"test": config.test, "train": config.train}
    for mode, count in wanted.items():
        while len(tasks[mode]) < count:
            admission = next(source, None)
            if admission is None:
                raise UserError(f"data.synthetic: {config.patients} patients give too few notes for {count} {mode} questions; ask for more patients")
            sentences = list(_sentences(facts, admission, rng))
            if sentences:
                notes.append((len(notes) + 1, *_note(admission, [sentence for _, sentence in sentences], [section for section, _ in sentences])))
                tasks[mode] += [_task(admission, sentence) for _, sentence in sentences]
        del tasks[mode][count:]
    return MadeUpNotes(notes, tasks)


def _sentences(facts: Facts, admission: Admission, rng: random.Random) -> Iterator[tuple[str, Sentence]]:
    makers: dict[str, Callable[[Facts, Admission, int, random.Random], Sentence | None]] = {
        "LABEVENTS": _laboratory,
        "PRESCRIPTIONS": _medication,
        "DIAGNOSES_ICD": _diagnosis,
        "PROCEDURES_ICD": _procedure,
    }
    entities: set[str] = set()
    for table, make in makers.items():
        present = sorted({int(name) for name in facts.rows(table).name[_positions(facts.rows(table), admission)]})
        rng.shuffle(present)
        for name in present[:_SENTENCES_A_SECTION]:
            sentence = make(facts, admission, name, rng)
            if sentence is not None and sentence.entity.lower() not in entities:
                entities.add(sentence.entity.lower())
                yield _SECTIONS[table], sentence


def _positions(rows: Rows, admission: Admission, name: int | None = None) -> list[int]:
    chosen = rows.hadm_id == admission.hadm_id
    if name is not None:
        chosen &= rows.name == name
    return [int(position) for position in np.flatnonzero(chosen)]


# --- sentences ------------------------------------------------------------------------------------------------------------------------------------


def _laboratory(facts: Facts, admission: Admission, name: int, rng: random.Random) -> Sentence | None:
    """One or two results of a test. An inconsistency is a value that was not measured then, or a day on which it was not."""
    rows = facts.rows("LABEVENTS")
    test = LAB_TESTS[name]
    positions = _positions(rows, admission, name)
    chosen = sorted(rng.sample(positions, min(len(positions), rng.choice([1, 1, 2]))), key=lambda position: rows.time[position])
    measured = {(int(rows.time[position]), float(rows.value[position])) for position in positions}
    statements = []
    for position in chosen:
        time, value = int(rows.time[position]), float(rows.value[position])
        is_wrong = rng.random() < SHARE_OF_ERRORS / len(chosen)
        if is_wrong and rng.random() < 0.5:
            changed = _other_value(value, {other for when, other in measured if when == time}, rng)
            value, is_wrong = (value, False) if changed is None else (changed, True)
        elif is_wrong:
            moved = _other_time(time, {when for when, _ in measured}, rng)
            time, is_wrong = (time, False) if moved is None else (moved, True)
        day, hour = moment(time).strftime("%Y-%m-%d"), moment(time).strftime("%H:%M")
        statements.append(
            Statement(
                f"{value:g} {test.unit} on {day} at {hour}",
                "LABEVENTS JOIN D_LABITEMS ON LABEVENTS.ITEMID = D_LABITEMS.ITEMID WHERE HADM_ID = ? AND LABEL = ? AND CHARTTIME LIKE ? "
                "AND abs(VALUENUM - ?) < 0.000001",
                (admission.hadm_id, rows.names[name], f"{day} {hour}%", value),
                is_wrong,
            )
        )
    text = f"{test.label} was {', and '.join(statement.text for statement in statements)}."
    return Sentence(test.label, text, tuple(statements))


def _medication(facts: Facts, admission: Admission, name: int, rng: random.Random) -> Sentence | None:
    """A drug with its dose and the day it began. An inconsistency is another dose, another day, or a drug that was not given at all."""
    rows = facts.rows("PRESCRIPTIONS")
    positions = _positions(rows, admission, name)
    position = rng.choice(positions)
    drug, time, dose = rows.names[name], int(rows.time[position]), float(rows.value[position])
    is_wrong = rng.random() < SHARE_OF_ERRORS
    kind = rng.choice(["dose", "day", "drug"]) if is_wrong else ""
    if kind == "dose":
        changed = _other_value(dose, {float(rows.value[other]) for other in positions}, rng)
        dose, is_wrong = (dose, False) if changed is None else (changed, True)
    elif kind == "day":
        moved = _other_time(time, {int(rows.time[other]) for other in positions}, rng)
        time, is_wrong = (time, False) if moved is None else (moved, True)
    elif kind == "drug":
        given = {rows.names[int(other)] for other in rows.name[_positions(rows, admission)]}
        never = [other for other in rows.names if other not in given and not any(other in one or one in other for one in given)]
        if not never:
            return None
        drug = rng.choice(never)
    original = next(written for written in DRUGS if written.lower() == drug)
    day = moment(time).strftime("%Y-%m-%d")
    statement = Statement(
        f"{original} {dose:g} {DRUGS[original].unit} was started on {day}",
        "PRESCRIPTIONS WHERE HADM_ID = ? AND DRUG = ? AND STARTDATE LIKE ? AND DOSE_VAL_RX = ?",
        (admission.hadm_id, drug, f"{day}%", int(dose)),
        is_wrong,
    )
    return Sentence(original, f"{statement.text}.", (statement,))


def _diagnosis(facts: Facts, admission: Admission, name: int, rng: random.Random) -> Sentence | None:
    return _coded(facts, admission, name, rng, "DIAGNOSES_ICD", "D_ICD_DIAGNOSES", "{} was diagnosed")


def _procedure(facts: Facts, admission: Admission, name: int, rng: random.Random) -> Sentence | None:
    return _coded(facts, admission, name, rng, "PROCEDURES_ICD", "D_ICD_PROCEDURES", "{} was done")


def _coded(facts: Facts, admission: Admission, name: int, rng: random.Random, table: str, titles: str, words: str) -> Sentence | None:
    """A code by its title. An inconsistency is a title that was not coded."""
    rows = facts.rows(table)
    is_wrong = rng.random() < SHARE_OF_ERRORS
    title = rows.names[name]
    if is_wrong:
        coded = {rows.names[int(other)] for other in rows.name[_positions(rows, admission)]}
        title = rng.choice([other for other in rows.names if other not in coded])
    statement = Statement(
        words.format(title.capitalize()),
        f"{table} JOIN {titles} ON {table}.ICD9_CODE = {titles}.ICD9_CODE WHERE HADM_ID = ? AND SHORT_TITLE = ?",
        (admission.hadm_id, title),
        is_wrong,
    )
    return Sentence(title, f"{statement.text}.", (statement,))


def _other_value(value: float, taken: set[float], rng: random.Random) -> float | None:
    """A number of the same look that is none of `taken`, if there is one near."""
    changed = [value * factor + shift for factor in (0.5, 0.7, 1.4, 2.0) for shift in (0, 1)]
    rounded = [float(round(number)) if value.is_integer() else round(number, 1) for number in changed]
    free = [number for number in rounded if number > 0 and all(abs(number - other) > 1e-6 for other in (value, *taken))]
    return rng.choice(free) if free else None


def _other_time(time: int, taken: set[int], rng: random.Random) -> int | None:
    """The same time of another day, on which none of `taken` lies, if there is one near."""
    days = {other // DAY for other in taken}
    free = [time + shift * DAY for shift in range(-20, 21) if (time // DAY + shift) not in days]
    return rng.choice(free) if free else None


# --- notes and questions ------------------------------------------------------------------------------------------------------------------------


def _note(admission: Admission, sentences: list[Sentence], sections: list[str]) -> tuple[Any, ...]:
    assert admission.end is not None
    parts = [f"Discharge summary\n\nAdmitted {moment(admission.start):%Y-%m-%d}, discharged {moment(admission.end):%Y-%m-%d}."]
    for section in _SECTIONS.values():
        lines = [sentence.text for sentence, where in zip(sentences, sections, strict=True) if where == section]
        if lines:
            parts.append("\n".join([f"{section}:", *lines]))
    return admission.subject_id, admission.hadm_id, f"{moment(admission.end):%Y-%m-%d}", "Discharge summary", "\n\n".join(parts) + "\n"


def _task(admission: Admission, sentence: Sentence) -> dict[str, Any]:
    errors = sum(statement.is_wrong for statement in sentence.statements)
    return {
        "Hospital admission": f"{admission.hadm_id}.0",
        "Medical entity": sentence.entity,
        "Number of inconsistencies": errors,
        "Has error": errors > 0,
        "checks": [[statement.condition, list(statement.parameters)] for statement in sentence.statements],
    }
