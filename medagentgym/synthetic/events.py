"""What was measured, given and found: whole columns at a time, so that a million events take seconds.

Each function returns the columns of one raw table, sorted by patient and time. Columns that it does not name are empty.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from medagentgym.synthetic.chance import numpy_random, python_random
from medagentgym.synthetic.clock import DAY, HOUR, MINUTE, midnight
from medagentgym.synthetic.cohort import Admission, Patient
from medagentgym.synthetic.conditions import BACKGROUND_DRUGS, CONDITIONS, INTENSIVE_DRUGS
from medagentgym.synthetic.dictionaries import (
    ANTIBIOTICS,
    CHART_ITEMS,
    DRUGS,
    INPUTS,
    LAB_TESTS,
    ORGANISMS,
    OTHER_CHART_ITEMS,
    OTHER_INPUTS,
    OUTPUTS,
    PANEL_CHANCES,
    SPECIMENS,
)

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Columns = dict[str, Any]
"""Column name -> array, masked array or list; all of the same length."""

_CONDITION_NUMBER = {condition.code: number for number, condition in enumerate(CONDITIONS)}
_LONGEST_DRAWS = 40
_LONGEST_ROUNDS = 150


@dataclass(frozen=True)
class Periods:
    """Hospital visits or intensive stays, as columns."""

    subject_id: Integers
    hadm_id: Integers
    icustay_id: Integers
    """0 for hospital visits."""
    start: Integers
    end: Integers
    severity: Floats
    condition: Integers
    patient: Integers
    """Position of the patient in the cohort."""

    def __len__(self) -> int:
        return len(self.hadm_id)


def hospital_periods(cohort: Sequence[Patient]) -> Periods:
    """All hospital visits, in the order of the cohort."""
    return _periods([(position, a, 0, a.start, a.last_moment) for position, patient in enumerate(cohort) for a in patient.admissions])


def intensive_periods(cohort: Sequence[Patient]) -> Periods:
    """All intensive stays, in the order of the cohort."""
    rows = [
        (position, admission, stay.icustay_id, stay.start, admission.last_moment if stay.end is None else stay.end)
        for position, patient in enumerate(cohort)
        for admission in patient.admissions
        for stay in admission.intensive_stays
    ]
    return _periods(rows)


def _periods(rows: Sequence[tuple[int, Admission, int, int, int]]) -> Periods:
    return Periods(
        subject_id=np.array([row[1].subject_id for row in rows], dtype=np.int64),
        hadm_id=np.array([row[1].hadm_id for row in rows], dtype=np.int64),
        icustay_id=np.array([row[2] for row in rows], dtype=np.int64),
        start=np.array([row[3] for row in rows], dtype=np.int64),
        end=np.array([row[4] for row in rows], dtype=np.int64),
        severity=np.array([row[1].severity for row in rows], dtype=np.float64),
        condition=np.array([_CONDITION_NUMBER[row[1].condition.code] for row in rows], dtype=np.int64),
        patient=np.array([row[0] for row in rows], dtype=np.int64),
    )


def _moments(rng: np.random.Generator, periods: Periods, interval: Integers, first: Integers, jitter: int, most: int) -> tuple[Integers, Integers]:
    """Moments at `interval` within each period, beginning at `first`, each delayed by up to `jitter` seconds in steps of five minutes.

    Returns the position of the period and the time of every moment, in order; times within a period are distinct, for `jitter` is below `interval`.
    """
    count = np.clip((periods.end - first - jitter) // interval + 1, 0, most)
    position = np.repeat(np.arange(len(periods)), count)
    step = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    delay = rng.integers(0, jitter // (5 * MINUTE) + 1, len(position)) * 5 * MINUTE
    return position, first[position] + step * interval[position] + delay


def _recovery(periods: Periods, position: Integers, time: Integers) -> Floats:
    """How much of a condition's effect is left: 1 at the start of a visit, falling with a half-life of three days, times the severity."""
    days = (time - periods.start[position]) / DAY
    return np.asarray((0.4 + periods.severity[position]) * np.power(0.5, days / 3.0), dtype=np.float64)


def lab_events(cohort: Sequence[Patient], seed: int) -> Columns:
    """LABEVENTS: blood draws once or twice a day, each with some panels. A few values are text, without a unit, or outside a hospital visit."""
    rng = numpy_random(seed, "labs")
    periods = hospital_periods(cohort)
    interval = np.where(periods.severity > 0.62, 12 * HOUR, DAY).astype(np.int64)
    draw_period, draw_time = _moments(rng, periods, interval, periods.start + 20 * MINUTE, 3 * HOUR, _LONGEST_DRAWS)
    effect = _recovery(periods, draw_period, draw_time)
    panels = list(PANEL_CHANCES)
    chance = np.array([[condition.panels.get(panel, PANEL_CHANCES[panel]) for panel in panels] for condition in CONDITIONS])
    drawn = rng.random((len(draw_period), len(panels))) < chance[periods.condition[draw_period]]
    parts: dict[str, list[npt.NDArray[Any]]] = {"test": [], "draw": [], "value": []}
    for number, test in enumerate(LAB_TESTS):
        draws = np.flatnonzero(drawn[:, panels.index(test.panel)] & (rng.random(len(draw_period)) > 0.03))
        own = rng.normal(0, 0.6, len(cohort))[periods.patient[draw_period[draws]]]
        shift = np.array([condition.labs.get(test.label, 0.0) for condition in CONDITIONS])[periods.condition[draw_period[draws]]]
        deviation = test.spread * (own + shift * effect[draws] + rng.normal(0, 0.45, len(draws)))
        value = test.centre * np.exp(deviation) if test.skewed else test.centre + deviation
        parts["test"].append(np.full(len(draws), number))
        parts["draw"].append(draws)
        parts["value"].append(np.round(_plausible(test.label, value), test.decimals))
    which, draw, value = (np.concatenate(parts[name]) for name in ("test", "draw", "value"))
    order = np.lexsort((which, draw))
    which, draw, value = which[order], draw[order], value[order]
    text = rng.random(len(value)) < 0.012
    outside = rng.random(len(draw_period))[draw] < 0.02
    low, high = (np.array([getattr(test, side) for test in LAB_TESTS])[which] for side in ("low", "high"))
    abnormal = ~text & (high > 0) & ((value < low) | (value > high))
    return {
        "SUBJECT_ID": periods.subject_id[draw_period[draw]],
        "HADM_ID": np.ma.masked_array(periods.hadm_id[draw_period[draw]], mask=outside),
        "ITEMID": np.array([test.itemid for test in LAB_TESTS])[which],
        "CHARTTIME": draw_time[draw],
        "VALUE": pc.if_else(pa.array(text), "HEMOLYZED", pa.array(value).cast(pa.string())),
        "VALUENUM": np.ma.masked_array(value, mask=text),
        "VALUEUOM": _named([test.unit for test in LAB_TESTS], which),
        "FLAG": _named([None, "abnormal"], abnormal.astype(np.int64)),
    }


def _plausible(label: str, value: Floats) -> Floats:
    limits = {"pH": (6.8, 7.8), "Albumin": (1.0, 6.0), "Hematocrit": (12.0, 60.0), "Hemoglobin": (4.0, 20.0), "Bicarbonate": (4.0, 50.0)}
    low, high = limits.get(label, (-30.0 if label == "Base Excess" else 0.01, 99_999.0))
    return np.clip(value, low, high)


def _named(names: Sequence[str | None], positions: Integers) -> Any:
    """The names at `positions`, as an Arrow column."""
    return pa.array(list(names), type=pa.string()).take(pa.array(positions))


def chart_events(cohort: Sequence[Patient], seed: int) -> Columns:
    """CHARTEVENTS: vital signs every four hours in intensive care, weight on the first and every sixth round, height once.

    A few values are missing, without a unit, or outside an intensive stay; some items are not among those that the task's tables keep.
    """
    rng = numpy_random(seed, "chart")
    periods = intensive_periods(cohort)
    first = (periods.start // HOUR + 1) * HOUR
    interval = np.full(len(periods), 4 * HOUR, dtype=np.int64)
    round_period, round_time = _moments(rng, periods, interval, first, HOUR, _LONGEST_ROUNDS)
    number_in_stay = (round_time - first[round_period]) // (4 * HOUR)
    effect = _recovery(periods, round_period, round_time)
    items = CHART_ITEMS + OTHER_CHART_ITEMS
    person = {item.itemid: rng.normal(0, 0.7, len(cohort)) for item in items}
    measured: dict[int, Floats] = {}
    parts: dict[str, list[npt.NDArray[Any]]] = {"item": [], "round": [], "value": []}
    for number, item in enumerate(items):
        own = person[item.itemid][periods.patient[round_period]]
        shift = np.array([condition.vitals.get(item.itemid, 0.0) for condition in CONDITIONS])[periods.condition[round_period]]
        noise = rng.normal(0, 0.05 if item.itemid in (762, 920) else 0.6, len(round_period))
        if item.itemid in (762, 920):
            value = item.centre + item.spread * (own / 0.7 + (noise if item.itemid == 762 else 0.0))
        elif item.itemid == 52:
            value = (measured[51] + 2 * measured[8368]) / 3 + 3 * noise
        else:
            value = item.centre + item.spread * (own + shift * effect + noise)
        if item.itemid == 8368:
            value = np.minimum(value, measured[51] - 12)
        measured[item.itemid] = np.clip(value, item.lowest, item.highest)
        chance: dict[int, Any] = {
            762: np.where(number_in_stay % 6 == 0, 0.8, 0.0),
            920: np.where(number_in_stay == 0, 0.7, 0.0),
            834: 0.6,
            198: 0.3,
            113: 0.15,
        }
        rounds = np.flatnonzero(rng.random(len(round_period)) < chance.get(item.itemid, 0.94))
        parts["item"].append(np.full(len(rounds), number))
        parts["round"].append(rounds)
        parts["value"].append(np.round(measured[item.itemid][rounds], item.decimals))
    which, at, value = (np.concatenate(parts[name]) for name in ("item", "round", "value"))
    order = np.lexsort((which, at))
    which, at, value = which[order], at[order], value[order]
    period = round_period[at]
    missing, outside, no_unit = (rng.random(len(value)) < share for share in (0.01, 0.004, 0.004))
    return {
        "SUBJECT_ID": periods.subject_id[period],
        "HADM_ID": periods.hadm_id[period],
        "ICUSTAY_ID": np.ma.masked_array(periods.icustay_id[period], mask=outside),
        "ITEMID": np.array([item.itemid for item in items])[which],
        "CHARTTIME": round_time[at],
        "STORETIME": np.minimum(round_time[at] + 20 * MINUTE, periods.end[period]),
        "CGID": 14_000 + periods.icustay_id[period] % 997,
        "VALUE": pc.if_else(pa.array(missing), None, pa.array(value).cast(pa.string())),
        "VALUENUM": np.ma.masked_array(value, mask=missing),
        "VALUEUOM": pc.if_else(pa.array(no_unit), None, _named([item.unit for item in items], which)),
    }


def input_events(cohort: Sequence[Patient], seed: int) -> Columns:
    """INPUTEVENTS_CV: fluids every six hours in intensive care, in ml, and some inputs in other units."""
    rng = numpy_random(seed, "inputs")
    kinds = [(itemid, "ml", volume) for itemid, _, volume in INPUTS] + [(itemid, unit, amount) for itemid, _, unit, amount in OTHER_INPUTS]
    periods = intensive_periods(cohort)
    weights = np.array([0.7, 0.5, 0.35, 0.12, 0.25, 0.25, 0.4, 0.2, 0.15, 0.08, 0.2, 0.25, 0.15])
    columns, kind, volume = _volumes(rng, periods, np.array([amount for _, _, amount in kinds]), weights, 6 * HOUR, 0.55)
    return {
        **columns,
        "ITEMID": np.array([itemid for itemid, _, _ in kinds])[kind],
        "AMOUNT": volume,
        "AMOUNTUOM": _named([unit for _, unit, _ in kinds], kind),
        "ORDERID": 1_000_000 + np.arange(len(kind)),
        "LINKORDERID": 1_000_000 + np.arange(len(kind)),
    }


def output_events(cohort: Sequence[Patient], seed: int) -> Columns:
    """OUTPUTEVENTS: urine and drains every four hours in intensive care, in ml; a few without a unit or a volume."""
    rng = numpy_random(seed, "outputs")
    periods = intensive_periods(cohort)
    drains = np.array([0.6 if condition.drains else 0.03 for condition in CONDITIONS])[periods.condition]
    weights = np.repeat(np.array([[0.85, 0.25, 0.3, 0.25, 0.0, 0.0, 0.05]]), len(periods), axis=0)
    weights[:, 4], weights[:, 5] = drains, drains
    columns, kind, volume = _volumes(rng, periods, np.array([usual for _, _, usual in OUTPUTS]), weights, 4 * HOUR, 0.7)
    broken = rng.random(len(kind)) < 0.01
    return {
        **columns,
        "ITEMID": np.array([itemid for itemid, _, _ in OUTPUTS])[kind],
        "VALUE": np.ma.masked_array(volume, mask=broken),
        "VALUEUOM": pc.if_else(pa.array(broken), None, "ml"),
    }


def _volumes(
    rng: np.random.Generator, periods: Periods, usual: Floats, chance: Floats, interval: int, recorded: float
) -> tuple[Columns, Integers, Floats]:
    """Volumes of several kinds, each of which a stay has or has not. Returns the common columns, the kind and the volume of every row."""
    present = rng.random((len(periods), len(usual))) < chance
    first = (periods.start // HOUR + 1) * HOUR
    period, time = _moments(rng, periods, np.full(len(periods), interval, dtype=np.int64), first, HOUR, _LONGEST_ROUNDS)
    happens = present[period] & (rng.random((len(period), len(usual))) < recorded)
    at, kind = np.nonzero(happens)
    volume = np.maximum(5.0, np.round(usual[kind] * rng.lognormal(0, 0.45, len(kind)) / 5) * 5)
    if (usual < 50).any():
        small = usual[kind] < 50
        volume[small] = np.maximum(1.0, np.round(usual[kind][small] * rng.lognormal(0, 0.45, int(small.sum()))))
    period, time = period[at], time[at]
    columns: Columns = {
        "SUBJECT_ID": periods.subject_id[period],
        "HADM_ID": periods.hadm_id[period],
        "ICUSTAY_ID": periods.icustay_id[period],
        "CHARTTIME": time,
        "STORETIME": np.minimum(time + 30 * MINUTE, periods.end[period]),
        "CGID": 14_000 + periods.icustay_id[period] % 997,
    }
    return columns, kind, volume


def prescriptions(cohort: Sequence[Patient], seed: int) -> Columns:
    """PRESCRIPTIONS: the condition's drugs and common ones, ordered for some days and sometimes again in another dose.

    Dates are midnights. Every ninth order of a drug that has a second unit is written in it; a few orders lack their end or their dose.
    """
    rng = python_random(seed, "prescriptions")
    ordered: dict[str, int] = {}
    rows: list[tuple[int, int, int | None, int, int | None, str, str | None, str]] = []
    for patient in cohort:
        for admission in patient.admissions:
            names = [name for name in admission.condition.drugs if rng.random() < 0.8]
            names += [name for name, chance in BACKGROUND_DRUGS if rng.random() < chance]
            if admission.intensive_stays:
                names += [name for name, chance in INTENSIVE_DRUGS if rng.random() < chance * (0.5 + admission.severity)]
            orders = [(name, *span) for name in dict.fromkeys(names) for span in _order_spans(rng, admission)]
            for name, start, end in sorted(orders, key=lambda order: (order[1], order[0])):
                drug = DRUGS[name]
                ordered[name] = ordered.get(name, 0) + 1
                unit = drug.other_unit if drug.other_unit and ordered[name] % 9 == 0 else drug.unit
                dose = rng.choice(drug.doses) if rng.random() > 0.01 else None
                stay = next((s.icustay_id for s in admission.intensive_stays if midnight(s.start) <= start <= (s.end or end)), None)
                rows.append((patient.subject_id, admission.hadm_id, stay, start, end if rng.random() > 0.01 else None, name, dose, unit))
    drugs = [DRUGS[row[5]] for row in rows]
    return {
        "SUBJECT_ID": [row[0] for row in rows],
        "HADM_ID": [row[1] for row in rows],
        "ICUSTAY_ID": [row[2] for row in rows],
        "STARTDATE": [row[3] for row in rows],
        "ENDDATE": [row[4] for row in rows],
        "DRUG_TYPE": [drug.kind for drug in drugs],
        "DRUG": [drug.name for drug in drugs],
        "DRUG_NAME_POE": [drug.name for drug in drugs],
        "DRUG_NAME_GENERIC": [drug.name for drug in drugs],
        "FORMULARY_DRUG_CD": [drug.code for drug in drugs],
        "DOSE_VAL_RX": [row[6] for row in rows],
        "DOSE_UNIT_RX": [row[7] for row in rows],
        "FORM_VAL_DISP": ["1"] * len(rows),
        "FORM_UNIT_DISP": ["DOSE"] * len(rows),
        "ROUTE": [drug.route for drug in drugs],
    }


def _order_spans(rng: random.Random, admission: Admission) -> list[tuple[int, int]]:
    """First and last day of each order of one drug; the first days are distinct."""
    first_day, last_day = midnight(admission.start), midnight(admission.last_moment)
    days = (last_day - first_day) // DAY
    spans: list[tuple[int, int]] = []
    start = first_day + min(days, int(rng.expovariate(0.9))) * DAY
    while len(spans) < 4:
        end = min(last_day, start + rng.randint(0, 4) * DAY)
        spans.append((start, end))
        start = end + DAY
        if start > last_day or rng.random() > 0.35:
            break
    return spans


def microbiology_events(cohort: Sequence[Patient], seed: int) -> Columns:
    """MICROBIOLOGYEVENTS: cultures during the stay, with organism and antibiotics where something grew. A few have a date and no time."""
    rng = python_random(seed, "microbiology")
    names: tuple[str, ...] = (
        "SUBJECT_ID",
        "HADM_ID",
        "CHARTDATE",
        "CHARTTIME",
        "SPEC_ITEMID",
        "SPEC_TYPE_DESC",
        "ORG_ITEMID",
        "ORG_NAME",
        "ISOLATE_NUM",
    )
    names += ("AB_ITEMID", "AB_NAME", "DILUTION_TEXT", "DILUTION_COMPARISON", "DILUTION_VALUE", "INTERPRETATION")
    rows: list[tuple[Any, ...]] = []
    for patient in cohort:
        for admission in patient.admissions:
            for time in _culture_times(rng, admission):
                specimen = rng.choice(admission.condition.specimens)
                charted = None if rng.random() < 0.05 else time
                start = (patient.subject_id, admission.hadm_id, midnight(time), charted, SPECIMENS[specimen], specimen)
                grows = [name for name, (_, specimens) in ORGANISMS.items() if specimen in specimens]
                if not grows or rng.random() >= admission.condition.infection:
                    rows.append((*start, *[None] * 9))
                    continue
                organism = rng.choice(grows)
                found = (*start, ORGANISMS[organism][0], organism, 1)
                tested = rng.sample(list(ANTIBIOTICS), rng.randint(0, 3)) if organism not in ("YEAST", "CLOSTRIDIUM DIFFICILE") else []
                if not tested:
                    rows.append((*found, *[None] * 6))
                for antibiotic in tested:
                    dilution = rng.choice([1, 2, 4, 8])
                    rows.append((*found, ANTIBIOTICS[antibiotic], antibiotic, f"<={dilution}", "<=", dilution, rng.choice("SSSRI")))
    return {name: [row[position] for row in rows] for position, name in enumerate(names)}


def _culture_times(rng: random.Random, admission: Admission) -> list[int]:
    """Distinct times on distinct days."""
    days = max(1, (admission.last_moment - admission.start) // DAY)
    count = min(days, int(rng.expovariate(1 / (0.6 + 4 * admission.condition.infection))))
    return [
        time
        for day in sorted(rng.sample(range(days), count))
        if (time := admission.start + day * DAY + rng.randrange(10, 600) * MINUTE) < admission.last_moment
    ]
