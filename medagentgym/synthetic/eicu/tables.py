"""The raw tables of eICU that the task's build reads, and how the made-up people fill them.

Column names and order are those of the published eICU-CRD v2.0 tables (https://eicu-crd.mit.edu/eicutables/patient/ and its neighbours).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from medagentgym.synthetic import events
from medagentgym.synthetic.chance import python_random
from medagentgym.synthetic.clock import DAY, HOUR, MINUTE, midnight, moment
from medagentgym.synthetic.cohort import IntensiveStay
from medagentgym.synthetic.dictionaries import INPUTS as INPUT_ITEMS
from medagentgym.synthetic.dictionaries import LAB_TESTS
from medagentgym.synthetic.dictionaries import OUTPUTS as OUTPUT_ITEMS
from medagentgym.synthetic.eicu import terms
from medagentgym.synthetic.eicu.visits import OLDEST, Person, Visit

RAW_COLUMNS: dict[str, dict[str, str]] = {
    name: dict(column.split(":") for column in columns.split())
    for name, columns in {
        "patient": "patientunitstayid:i patienthealthsystemstayid:i gender:s age:s ethnicity:s hospitalid:i wardid:i apacheadmissiondx:s "
        "admissionheight:f hospitaladmittime24:s hospitaladmitoffset:i hospitaladmitsource:s hospitaldischargeyear:i hospitaldischargetime24:s "
        "hospitaldischargeoffset:i hospitaldischargelocation:s hospitaldischargestatus:s unittype:s unitadmittime24:s unitadmitsource:s "
        "unitvisitnumber:i unitstaytype:s admissionweight:f dischargeweight:f unitdischargetime24:s unitdischargeoffset:i unitdischargelocation:s "
        "unitdischargestatus:s uniquepid:s",
        "diagnosis": "diagnosisid:i patientunitstayid:i activeupondischarge:s diagnosisoffset:i diagnosisstring:s icd9code:s diagnosispriority:s",
        "treatment": "treatmentid:i patientunitstayid:i treatmentoffset:i treatmentstring:s activeupondischarge:s",
        "lab": "labid:i patientunitstayid:i labresultoffset:i labtypeid:i labname:s labresult:f labresulttext:s labmeasurenamesystem:s "
        "labmeasurenameinterface:s labresultrevisedoffset:i",
        "medication": "medicationid:i patientunitstayid:i drugorderoffset:i drugstartoffset:i drugivadmixture:s drugordercancelled:s drugname:s "
        "drughiclseqno:i dosage:s routeadmin:s frequency:s loadingdose:s prn:s drugstopoffset:i gtc:i",
        "allergy": "allergyid:i patientunitstayid:i allergyoffset:i allergyenteredoffset:i allergynotetype:s specialtytype:s usertype:s rxincluded:s "
        "writtenineicu:s drugname:s allergytype:s allergyname:s drughiclseqno:i",
        "intakeOutput": "intakeoutputid:i patientunitstayid:i intakeoutputoffset:i intaketotal:f outputtotal:f dialysistotal:f nettotal:f "
        "intakeoutputentryoffset:i cellpath:s celllabel:s cellvaluenumeric:f cellvaluetext:s",
        "microLab": "microlabid:i patientunitstayid:i culturetakenoffset:i culturesite:s organism:s antibiotic:s sensitivitylevel:s",
        "vitalPeriodic": "vitalperiodicid:i patientunitstayid:i observationoffset:i temperature:f sao2:f heartrate:f respiration:f cvp:f etco2:f "
        "systemicsystolic:f systemicdiastolic:f systemicmean:f pasystolic:f padiastolic:f pamean:f st1:f st2:f st3:f icp:f",
    }.items()
}
"""Table -> column -> type: `i` integer, `f` float, `s` text."""

_TYPES = {"i": pa.int64(), "f": pa.float64(), "s": pa.string()}
_FIRST_NUMBERS = dict(zip(RAW_COLUMNS, range(0, 90_000_000, 10_000_000), strict=True))

RawRow = dict[str, Any]


def raw_tables(people: Sequence[Person], seed: int) -> Iterator[tuple[str, pa.Table]]:
    """Name and content of every raw table."""
    yield "patient", _table("patient", _patients(people, seed))
    yield "diagnosis", _table("diagnosis", _diagnoses(people, seed))
    yield "treatment", _table("treatment", _treatments(people, seed))
    yield "lab", _table("lab", _labs(people, seed))
    yield "medication", _table("medication", _medications(people, seed))
    yield "allergy", _table("allergy", _allergies(people, seed))
    yield "intakeOutput", _table("intakeOutput", _intakes_and_outputs(people, seed))
    yield "microLab", _table("microLab", _cultures(people, seed))
    yield "vitalPeriodic", _table("vitalPeriodic", _vital_signs(people, seed))


def _table(name: str, rows: Iterator[RawRow]) -> pa.Table:
    """A raw table with all its columns: its own number is that of the row, and what is not given is empty."""
    columns = RAW_COLUMNS[name]
    content: dict[str, list[Any]] = {column: [] for column in columns}
    number = next(iter(columns)) if name != "patient" else None
    for place, row in enumerate(rows):
        for column, values in content.items():
            values.append(_FIRST_NUMBERS[name] + 37 * place if column == number else row.get(column))
    return pa.table({column: pa.array(values, type=_TYPES[columns[column]]) for column, values in content.items()})


def _minutes(later: int, earlier: int) -> int:
    return (later - earlier) // MINUTE


def _end(visit: Visit) -> int:
    """When the visit ended, later than "now" or not."""
    return visit.admission.last_moment


def _stays(person: Person) -> Iterator[tuple[Visit, IntensiveStay]]:
    for visit in person.visits:
        for stay in visit.admission.intensive_stays:
            yield visit, stay


def _stay_at(visit: Visit, time: int) -> IntensiveStay:
    """The unit stay to which something belongs: the last one that had begun, or the first."""
    stays = visit.admission.intensive_stays
    return next((stay for stay in reversed(stays) if stay.start <= time), stays[0])


def _visits_by_number(people: Sequence[Person]) -> dict[int, Visit]:
    return {visit.identifier: visit for person in people for visit in person.visits}


def _clock(time: int) -> str:
    return f"{moment(time):%H:%M:%S}"


# --- stays ------------------------------------------------------------------------------------------------------------------------------------------


def _patients(people: Sequence[Person], seed: int) -> Iterator[RawRow]:
    rng = python_random(seed, "eicu stays")
    for person in people:
        height = round(rng.gauss(163 if person.patient.gender == "F" else 176, 7.5), 1)
        weight = max(40.0, rng.gauss(72 if person.patient.gender == "F" else 85, 17))
        for visit in person.visits:
            admission = visit.admission
            source = rng.choice(terms.ADMISSION_SOURCES[admission.location])
            weight = max(40.0, weight + rng.gauss(0, 2.5))
            for number, stay in enumerate(admission.intensive_stays, 1):
                unit = stay.stretches[0].care_unit
                end = stay.end or _end(visit)
                last = stay is admission.intensive_stays[-1]
                died = admission.died and last
                admitted = round(max(38.0, weight + rng.gauss(0, 1.5)), 1)
                yield {
                    "patientunitstayid": stay.icustay_id,
                    "patienthealthsystemstayid": visit.identifier,
                    "gender": {"F": "Female", "M": "Male"}[person.patient.gender],
                    "age": f"> {OLDEST}" if visit.age > OLDEST else str(visit.age),
                    "ethnicity": terms.ETHNICITIES[person.ethnicity],
                    "hospitalid": visit.hospital,
                    "wardid": visit.wards[unit],
                    "apacheadmissiondx": admission.condition.reason.capitalize(),
                    "admissionheight": height if rng.random() > 0.04 else None,
                    "hospitaladmittime24": _clock(admission.start),
                    "hospitaladmitoffset": -_minutes(stay.start, admission.start),
                    "hospitaladmitsource": source if visit.has_source else None,
                    "hospitaldischargeyear": visit.year,
                    "hospitaldischargetime24": _clock(_end(visit)),
                    "hospitaldischargeoffset": _minutes(_end(visit), stay.start),
                    "hospitaldischargelocation": terms.DISCHARGE_LOCATIONS.get(admission.discharge_location or "", "Home"),
                    "hospitaldischargestatus": "Expired" if admission.died else "Alive",
                    "unittype": terms.STEP_DOWN_UNIT if unit is None else terms.CARE_UNITS[unit],
                    "unitadmittime24": _clock(stay.start),
                    "unitadmitsource": source if number == 1 else "Floor",
                    "unitvisitnumber": number,
                    "unitstaytype": "stepdown/other" if unit is None else "admit" if number == 1 else "readmit",
                    "admissionweight": admitted if rng.random() > 0.04 else None,
                    "dischargeweight": round(max(38.0, admitted + rng.gauss(0, 2)), 1) if rng.random() > 0.3 else None,
                    "unitdischargetime24": _clock(end),
                    "unitdischargeoffset": _minutes(end, stay.start),
                    "unitdischargelocation": "Death" if died else "Floor" if end < _end(visit) else "Home",
                    "unitdischargestatus": "Expired" if died else "Alive",
                    "uniquepid": person.uniquepid,
                }


# --- what was found and done ------------------------------------------------------------------------------------------------------------------------


def _times(rng: random.Random, first: int, last: int, again: float) -> list[int]:
    """A time soon after `first`, and with chance `again` later ones until `last`: distinct, in order."""
    times = [min(last, first + rng.randint(5, 200) * MINUTE)]
    while rng.random() < again and times[-1] + 6 * HOUR < last:
        times.append(times[-1] + rng.randint(5 * 60, 40 * 60) * MINUTE)
    return [time for time in times if time <= last]


def _under_a_rare_head(rng: random.Random, path: str) -> str:
    return terms.RARE_HEADS[path] if path in terms.RARE_HEADS and rng.random() < 0.1 else path


def _diagnoses(people: Sequence[Person], seed: int) -> Iterator[RawRow]:
    rng = python_random(seed, "eicu diagnoses")
    for person in people:
        for visit, stay in _stays(person):
            named = [terms.DIAGNOSES[code] for code in visit.admission.diagnoses if code in terms.DIAGNOSES]
            for place, (path, codes) in enumerate(dict(named).items()):
                path = _under_a_rare_head(rng, path)
                for time in _times(rng, stay.start, stay.end or _end(visit), 0.3):
                    yield {
                        "patientunitstayid": stay.icustay_id,
                        "activeupondischarge": str(rng.random() < 0.6),
                        "diagnosisoffset": _minutes(time, stay.start),
                        "diagnosisstring": path,
                        "icd9code": codes,
                        "diagnosispriority": "Primary" if place == 0 else rng.choice(["Major", "Other"]),
                    }


def _treatments(people: Sequence[Person], seed: int) -> Iterator[RawRow]:
    rng = python_random(seed, "eicu treatments")
    for person in people:
        for visit, stay in _stays(person):
            admission = visit.admission
            paths = [terms.TREATMENTS[code] for code in admission.procedures if code in terms.TREATMENTS]
            paths += [terms.DRUG_TREATMENTS[name] for name in admission.condition.drugs if name in terms.DRUG_TREATMENTS and rng.random() < 0.6]
            paths += [path for path, chance in terms.COMMON_TREATMENTS if rng.random() < chance]
            for path in dict.fromkeys(paths):
                path = _under_a_rare_head(rng, path)
                for time in _times(rng, stay.start, stay.end or _end(visit), 0.35):
                    yield {
                        "patientunitstayid": stay.icustay_id,
                        "treatmentoffset": _minutes(time, stay.start),
                        "treatmentstring": path,
                        "activeupondischarge": str(rng.random() < 0.4),
                    }


def _labs(people: Sequence[Person], seed: int) -> Iterator[RawRow]:
    columns = events.lab_events([person.patient for person in people], seed)
    tests = {test.itemid: test for test in LAB_TESTS}
    visits = _visits_by_number(people)
    outside = np.ma.getmaskarray(columns["HADM_ID"])
    no_number = np.ma.getmaskarray(columns["VALUENUM"])
    for place, item in enumerate(columns["ITEMID"]):
        test = tests[int(item)]
        if outside[place] or test.label not in terms.LAB_NAMES:
            continue
        visit = visits[int(columns["HADM_ID"].data[place])]
        time = int(columns["CHARTTIME"][place])
        stay = _stay_at(visit, time)
        value = None if no_number[place] else float(columns["VALUENUM"].data[place])
        yield {
            "patientunitstayid": stay.icustay_id,
            "labresultoffset": _minutes(time, stay.start),
            "labtypeid": 3 if test.category == "Hematology" else 7 if test.category == "Blood Gas" else 1,
            "labname": terms.LAB_NAMES[test.label],
            "labresult": value,
            "labresulttext": "hemolyzed" if value is None else f"{value:g}",
            "labmeasurenamesystem": test.unit,
            "labmeasurenameinterface": test.unit,
            "labresultrevisedoffset": _minutes(time, stay.start) + 30,
        }


def _medications(people: Sequence[Person], seed: int) -> Iterator[RawRow]:
    rng = python_random(seed, "eicu medications")
    columns = events.prescriptions([person.patient for person in people], seed)
    visits = _visits_by_number(people)
    for hadm_id, day, last_day, drug, dose, unit, route in zip(
        *(columns[name] for name in ("HADM_ID", "STARTDATE", "ENDDATE", "DRUG", "DOSE_VAL_RX", "DOSE_UNIT_RX", "ROUTE")), strict=True
    ):
        visit = visits[hadm_id]
        start = max(day + rng.randint(0, 23 * 60) * MINUTE, visit.admission.start + rng.randint(5, 180) * MINUTE)
        start = min(start, _end(visit) - MINUTE)
        stop = None if last_day is None else max(start + HOUR, midnight(last_day) + rng.randint(18 * 60, 30 * 60) * MINUTE)
        stay = _stay_at(visit, start)
        yield {
            "patientunitstayid": stay.icustay_id,
            "drugorderoffset": _minutes(start, stay.start) - rng.randint(5, 120),
            "drugstartoffset": _minutes(start, stay.start),
            "drugivadmixture": "Yes" if route == "IV DRIP" else "No",
            "drugordercancelled": "Yes" if rng.random() < 0.03 else "No",
            "drugname": drug.upper() if rng.random() > 0.02 else None,
            "dosage": None if dose is None else f"{dose} {unit}",
            "routeadmin": route,
            "frequency": rng.choice(["Once", "Q6H", "BID", "Daily", "Q8H PRN"]),
            "prn": rng.choice(["No", "No", "Yes"]),
            "drugstopoffset": 0 if stop is None else _minutes(stop, stay.start),
        }


def _allergies(people: Sequence[Person], seed: int) -> Iterator[RawRow]:
    rng = python_random(seed, "eicu allergies")
    for person in people:
        own = rng.sample(terms.ALLERGIES, rng.choice([1, 1, 2, 3])) if rng.random() < 0.4 else []
        for visit in person.visits:
            stay = visit.admission.intensive_stays[0]
            for drug, name in own:
                if rng.random() < 0.8:
                    offset = rng.randint(2, 90)
                    yield {
                        "patientunitstayid": stay.icustay_id,
                        "allergyoffset": offset,
                        "allergyenteredoffset": offset + 3,
                        "allergynotetype": "Comprehensive Progress",
                        "specialtytype": "eCM Primary",
                        "usertype": "THC Nurse",
                        "rxincluded": "True",
                        "writtenineicu": "True",
                        "drugname": drug,
                        "allergytype": "Non Drug" if drug is None else "Drug",
                        "allergyname": name,
                    }


def _intakes_and_outputs(people: Sequence[Person], seed: int) -> Iterator[RawRow]:
    cohort = [person.patient for person in people]
    stays = {stay.icustay_id: stay for person in people for _, stay in _stays(person)}
    found: list[tuple[int, int, str, str, float, bool]] = []
    for columns, items, cells, value in (
        (events.input_events(cohort, seed), {item: label for item, label, _ in INPUT_ITEMS}, terms.INTAKES, "AMOUNT"),
        (events.output_events(cohort, seed), {item: label for item, label, _ in OUTPUT_ITEMS}, terms.OUTPUTS, "VALUE"),
    ):
        missing = np.ma.getmaskarray(columns[value])
        for place, item in enumerate(columns["ITEMID"]):
            if int(item) in items and not missing[place]:
                path, label = cells[items[int(item)]]
                stay, time = int(columns["ICUSTAY_ID"][place]), int(columns["CHARTTIME"][place])
                found.append((stay, time, path, label, float(np.ma.getdata(columns[value])[place]), value == "AMOUNT"))
    rng = python_random(seed, "eicu weights")
    for unit_stay in stays.values():
        for day in range(1 + (((unit_stay.end or unit_stay.start) - unit_stay.start) // DAY)):
            weight = round(rng.uniform(50, 110), 1)
            found.append((unit_stay.icustay_id, unit_stay.start + day * DAY + 30 * MINUTE, *terms.BODY_WEIGHT, weight, False))
    for stay_id, time, path, label, volume, taken_in in sorted(found):
        offset = _minutes(time, stays[stay_id].start)
        is_weight = path == terms.BODY_WEIGHT[0]
        intake, output = (0.0 if is_weight else volume, 0.0) if taken_in else (0.0, 0.0 if is_weight else volume)
        yield {
            "patientunitstayid": stay_id,
            "intakeoutputoffset": offset,
            "intaketotal": intake,
            "outputtotal": output,
            "dialysistotal": 0.0,
            "nettotal": intake - output,
            "intakeoutputentryoffset": offset + 10,
            "cellpath": path,
            "celllabel": label,
            "cellvaluenumeric": volume,
            "cellvaluetext": f"{volume:g}",
        }


def _cultures(people: Sequence[Person], seed: int) -> Iterator[RawRow]:
    columns = events.microbiology_events([person.patient for person in people], seed)
    visits = _visits_by_number(people)
    names = ("HADM_ID", "CHARTTIME", "SPEC_TYPE_DESC", "ORG_NAME", "AB_NAME", "INTERPRETATION")
    for hadm_id, time, specimen, organism, antibiotic, level in zip(*(columns[name] for name in names), strict=True):
        if time is None:
            continue
        stay = _stay_at(visits[hadm_id], time)
        yield {
            "patientunitstayid": stay.icustay_id,
            "culturetakenoffset": _minutes(time, stay.start),
            "culturesite": terms.SPECIMENS[specimen],
            "organism": terms.NO_GROWTH if organism is None else terms.ORGANISMS[organism],
            "antibiotic": antibiotic.lower() if antibiotic else None,
            "sensitivitylevel": terms.SENSITIVITIES[level] if level else None,
        }


def _vital_signs(people: Sequence[Person], seed: int) -> Iterator[RawRow]:
    """One row a round: the columns of vitalPeriodic side by side. Where a value was not measured, its column is empty."""
    columns: Mapping[str, Any] = events.chart_events([person.patient for person in people], seed)
    begins = {stay.icustay_id: stay.start for person in people for _, stay in _stays(person)}
    no_stay, no_value = np.ma.getmaskarray(columns["ICUSTAY_ID"]), np.ma.getmaskarray(columns["VALUENUM"])
    rounds: dict[tuple[int, int], RawRow] = {}
    for place, item in enumerate(columns["ITEMID"]):
        if int(item) not in terms.VITALS or no_stay[place]:
            continue
        stay, time = int(columns["ICUSTAY_ID"].data[place]), int(columns["CHARTTIME"][place])
        row = rounds.setdefault((stay, time), {"patientunitstayid": stay, "observationoffset": _minutes(time, begins[stay])})
        row[terms.VITALS[int(item)]] = None if no_value[place] else float(columns["VALUENUM"].data[place])
    yield from (row for _, row in sorted(rounds.items()))
