from __future__ import annotations

import ast
import inspect
import json
import re
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from medagentgym.judges.calculations import accepted_range, read_gold
from medagentgym.synthetic.calculations import METHODS, formulas, make_rows
from medagentgym.synthetic.calculations.calculators import CALCULATORS
from medagentgym.synthetic.calculations.patients import make_patient
from medagentgym.synthetic.chance import python_random

# --- formulas -------------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (formulas.mean_arterial_pressure(120, 80), 93.333),
        (formulas.body_mass_index(70, 175), 22.857),
        (formulas.target_weight(24.1, 169), 68.832),
        (formulas.body_surface_area(70, 170), 1.818),
        (formulas.ideal_body_weight("male", 177), 72.276),
        (formulas.ideal_body_weight("female", 60 * 2.54), 45.5),
        (formulas.adjusted_body_weight("female", 62.4, 153.4), 52.804),
        (formulas.maintenance_fluids(7.9), 31.6),
        (formulas.maintenance_fluids(15), 50),
        (formulas.maintenance_fluids(43), 83),
        (formulas.qtc_bazett(330, 75), 368.951),
        (formulas.qtc_fridericia(330, 150), 447.879),
        (formulas.qtc_framingham(330, 81), 369.926),
        (formulas.qtc_hodges(330, 76), 358),
        (formulas.qtc_rautaharju(330, 99), 401.5),
        (formulas.qtc_bazett(400, 60), 400),
        (formulas.creatinine_clearance("male", 87, 48, 163, 1.4), 25.238),
        (formulas.glomerular_filtration_rate("male", 50, 1.0), 91.7),
        (formulas.glomerular_filtration_rate("female", 50, 0.6), 109.2),
        (formulas.fractional_sodium_excretion(129, 0.6, 32, 60.3), 0.247),
        (formulas.free_water_deficit("male", 40, 70, 154), 4.2),
        (formulas.free_water_deficit("female", 80, 60, 154), 2.7),
        (formulas.serum_osmolality(140, 14, 90), 290),
        (formulas.corrected_sodium(116, 1010), 137.84),
        (formulas.corrected_calcium(8.6, 3.1), 9.32),
        (formulas.anion_gap(139, 104, 20), 15),
        (formulas.albumin_corrected_anion_gap(138, 102, 15, 2.6), 24.5),
        (formulas.delta_gap(141, 106, 29), -6),
        (formulas.delta_ratio(134, 100, 7.2), 0.881),
        (formulas.fibrosis_4(36, 28, 30, 165), 1.115),
        (formulas.ldl_cholesterol(116, 74, 38), 34.4),
        (formulas.homa_ir(210, 26), 13.481),
    ],
)
def test_formulas_give_values_that_were_calculated_elsewhere(value: float, expected: float) -> None:
    assert value == pytest.approx(expected, rel=1e-3)


def test_dates_of_a_pregnancy_follow_the_length_of_the_cycle() -> None:
    last = date(2023, 1, 1)
    assert formulas.due_date(last, 28) == date(2023, 10, 8)
    assert formulas.due_date(last, 31) == date(2023, 10, 11)
    assert formulas.due_date(last, 24) == date(2023, 10, 4)
    assert formulas.conception_date(last, 28) == date(2023, 1, 15)
    assert formulas.gestational_age(date(2024, 2, 14), date(2024, 5, 23)) == (14, 1)


def test_scores_count_each_criterion_at_its_limit() -> None:
    assert formulas.curb_65(65, True, 20, 30, 89, 61) == 5 and formulas.curb_65(64, False, 19, 29, 90, 61) == 0
    assert formulas.sirs_criteria(38.1, 91, 21, 12.1) == 4 and formulas.sirs_criteria(38.0, 90, 20, 12.0) == 0
    assert formulas.cha2ds2_vasc("female", 75, True, True, True, True, True) == 9 and formulas.cha2ds2_vasc("male", 64, *[False] * 5) == 0
    assert formulas.centor(10, 38.5, False, True, True) == 5 and formulas.centor(50, 37.0, True, False, False) == -1


def test_every_formula_names_its_source() -> None:
    functions = [function for _, function in inspect.getmembers(formulas, inspect.isfunction) if function.__module__ == formulas.__name__]
    assert len(functions) >= len(CALCULATORS)
    for function in functions:
        assert re.search(r"(?:19|20)\d\d", function.__doc__ or ""), function.__name__


# --- rows -----------------------------------------------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_rows_and_another_one_others() -> None:
    assert make_rows(1, "test", 40) == make_rows(1, "test", 40)
    assert make_rows(1, "test", 40) != make_rows(2, "test", 40)
    notes = [{row["Patient Note"] for row in make_rows(1, mode, 200)} for mode in ("train", "test")]
    assert not notes[0] & notes[1]


def test_more_rows_begin_with_the_same_rows() -> None:
    assert make_rows(1, "test", 60)[:40] == make_rows(1, "test", 40)


def test_every_calculator_is_asked_for_and_there_are_more_than_fifteen() -> None:
    counts = Counter(row["Calculator Name"] for row in make_rows(0, "test", 2 * len(CALCULATORS)))
    assert set(counts) == set(METHODS) and len(counts) > 15
    assert set(counts.values()) == {2}


def test_every_gold_is_read_and_lies_within_its_limits() -> None:
    shapes = Counter()
    for row in make_rows(3, "train", 300):
        gold = read_gold(row["Ground Truth Answer"], row["Lower Limit"], row["Upper Limit"])
        shapes[gold["shape"], row["Output Type"]] += 1
        if gold["shape"] == "number":
            assert gold["low"] <= gold["value"] <= gold["high"], row
    assert set(shapes) == {("number", "decimal"), ("number", "integer"), ("date", "date"), ("weeks_and_days", "weeks and days")}


def test_a_patient_may_have_every_condition_or_none() -> None:
    chance = python_random(0, "test of conditions")
    conditions = ("heart_failure", "hypertension", "diabetes", "stroke", "vascular_disease")
    notes = {sum(facts[name] for name in conditions): note for note, facts in (make_patient(conditions, chance) for _ in range(2000))}
    assert "There is no history of" not in notes[5] and "The medical history includes congestive heart failure" in notes[5]
    assert "The medical history includes" not in notes[0]


def test_no_score_hangs_on_how_a_unit_is_converted() -> None:
    needs = ("temperature", "heart_rate", "respiratory_rate", "white_cells", "urea_nitrogen")
    chance = python_random(0, "test of thresholds")
    for _ in range(300):
        _, facts = make_patient(needs, chance)
        for name, limits in {"temperature": (36, 38), "white_cells": (4, 12), "heart_rate": (90,), "urea_nitrogen": (19,)}.items():
            assert all(abs(facts[name] - limit) > 0.04 for limit in limits), (name, facts[name])


def test_no_note_states_the_date_that_is_asked_for() -> None:
    rows = [row for row in make_rows(4, "test", 300) if row["Output Type"] == "date"]
    assert len(rows) > 15
    assert not any(row["Ground Truth Answer"] in row["Patient Note"] for row in rows)


# --- real data ------------------------------------------------------------------------------------------------------------------------------------

ENTITIES = {
    "sodium": "Sodium",
    "chloride": "Chloride",
    "bicarbonate": "Bicarbonate",
    "albumin": "Albumin",
    "glucose": "Glucose",
    "urea_nitrogen": "Blood Urea Nitrogen (BUN)",
    "creatinine": "creatinine",
    "urine_sodium": "Urine sodium",
    "urine_creatinine": "Urine creatinine",
    "ast": "Aspartate aminotransferase",
    "alt": "Alanine aminotransferase",
    "platelets": "Platelet count",
    "systolic": "Systolic Blood Pressure",
    "diastolic": "Diastolic Blood Pressure",
    "heart_rate": "Heart Rate or Pulse",
    "qt_interval": "QT interval",
    "weight": "weight",
    "height": "height",
    "age": "age",
    "target_index": "Body Mass Index (BMI)",
}
FACTORS = {"lbs": 0.45359237, "m": 100.0, "in": 2.54, "ft": 30.48, "months": 1 / 12, "µmol/L": 1 / 88.42, "g/L": 0.1, "µL": 0.001}
AGREEING = (
    "Adjusted Body Weight",
    "Albumin Corrected Anion Gap",
    "Anion Gap",
    "Body Mass Index (BMI)",
    "Body Surface Area Calculator",
    "Creatinine Clearance (Cockcroft-Gault Equation)",
    "Delta Gap",
    "Fibrosis-4 (FIB-4) Index for Liver Fibrosis",
    "Fractional Excretion of Sodium (FENa)",
    "Free Water Deficit",
    "Ideal Body Weight",
    "Maintenance Fluids Calculations",
    "Mean Arterial Pressure (MAP)",
    "QTc Bazett Calculator",
    "QTc Framingham Calculator",
    "QTc Fridericia Calculator",
    "QTc Hodges Calculator",
    "QTc Rautaharju Calculator",
    "Serum Osmolality",
    "Sodium Correction for Hyperglycemia",
    "Target weight",
)
"""Calculators whose golds MedCalc-Bench has had right from its first version on."""


@pytest.mark.shared_data
def test_the_formulas_give_the_golds_of_medcalc_bench_from_its_own_entities(shared_data: Path) -> None:
    calculators = {calculator.name: calculator for calculator in CALCULATORS}
    checked = Counter()
    for line in (shared_data / "medcalcbench" / "test_tasks.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row["Calculator Name"] not in AGREEING:
            continue
        entities = ast.literal_eval(row["Relevant Entities"])
        calculator = calculators[row["Calculator Name"]]
        value = calculator.calculate(*(_entity(name, entities) for name in calculator.needs))
        low, high = accepted_range(read_gold(row["Ground Truth Answer"], row["Lower Limit"], row["Upper Limit"]))
        assert low <= value <= high, (row["Calculator Name"], entities, value, row["Ground Truth Answer"])
        checked[row["Calculator Name"]] += 1
    assert len(checked) == len(AGREEING) and checked.total() > 180


def _entity(name: str, entities: dict[str, Any]) -> Any:
    if name == "sex":
        return entities["sex"].lower()
    value, unit = entities[ENTITIES[name]]
    if name == "glucose" and unit == "mmol/L":
        return value * 18.016
    return value * FACTORS.get(unit, 1.0)
