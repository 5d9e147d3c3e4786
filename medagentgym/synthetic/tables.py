"""The raw tables of MIMIC-III: their columns, and how the made-up cohort fills them.

Column names, order and types are those of the published MIMIC-III v1.4 tables (https://mimic.mit.edu/docs/iii/tables/).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from medagentgym.synthetic import dictionaries, events
from medagentgym.synthetic.clock import DAY, HOUR
from medagentgym.synthetic.cohort import Admission, Patient

RAW_COLUMNS: dict[str, dict[str, str]] = {
    name: dict(column.split(":") for column in columns.split())
    for name, columns in {
        "PATIENTS": "ROW_ID:i SUBJECT_ID:i GENDER:s DOB:t DOD:t DOD_HOSP:t DOD_SSN:t EXPIRE_FLAG:i",
        "ADMISSIONS": "ROW_ID:i SUBJECT_ID:i HADM_ID:i ADMITTIME:t DISCHTIME:t DEATHTIME:t ADMISSION_TYPE:s ADMISSION_LOCATION:s "
        "DISCHARGE_LOCATION:s INSURANCE:s LANGUAGE:s RELIGION:s MARITAL_STATUS:s ETHNICITY:s EDREGTIME:t EDOUTTIME:t DIAGNOSIS:s "
        "HOSPITAL_EXPIRE_FLAG:i HAS_CHARTEVENTS_DATA:i",
        "ICUSTAYS": "ROW_ID:i SUBJECT_ID:i HADM_ID:i ICUSTAY_ID:i DBSOURCE:s FIRST_CAREUNIT:s LAST_CAREUNIT:s FIRST_WARDID:i LAST_WARDID:i "
        "INTIME:t OUTTIME:t LOS:f",
        "TRANSFERS": "ROW_ID:i SUBJECT_ID:i HADM_ID:i ICUSTAY_ID:i DBSOURCE:s EVENTTYPE:s PREV_CAREUNIT:s CURR_CAREUNIT:s PREV_WARDID:i "
        "CURR_WARDID:i INTIME:t OUTTIME:t LOS:f",
        "D_ICD_DIAGNOSES": "ROW_ID:i ICD9_CODE:s SHORT_TITLE:s LONG_TITLE:s",
        "D_ICD_PROCEDURES": "ROW_ID:i ICD9_CODE:s SHORT_TITLE:s LONG_TITLE:s",
        "D_LABITEMS": "ROW_ID:i ITEMID:i LABEL:s FLUID:s CATEGORY:s LOINC_CODE:s",
        "D_ITEMS": "ROW_ID:i ITEMID:i LABEL:s ABBREVIATION:s DBSOURCE:s LINKSTO:s CATEGORY:s UNITNAME:s PARAM_TYPE:s CONCEPTID:i",
        "DIAGNOSES_ICD": "ROW_ID:i SUBJECT_ID:i HADM_ID:i SEQ_NUM:i ICD9_CODE:s",
        "PROCEDURES_ICD": "ROW_ID:i SUBJECT_ID:i HADM_ID:i SEQ_NUM:i ICD9_CODE:s",
        "LABEVENTS": "ROW_ID:i SUBJECT_ID:i HADM_ID:i ITEMID:i CHARTTIME:t VALUE:s VALUENUM:f VALUEUOM:s FLAG:s",
        "PRESCRIPTIONS": "ROW_ID:i SUBJECT_ID:i HADM_ID:i ICUSTAY_ID:i STARTDATE:t ENDDATE:t DRUG_TYPE:s DRUG:s DRUG_NAME_POE:s DRUG_NAME_GENERIC:s "
        "FORMULARY_DRUG_CD:s GSN:s NDC:s PROD_STRENGTH:s DOSE_VAL_RX:s DOSE_UNIT_RX:s FORM_VAL_DISP:s FORM_UNIT_DISP:s ROUTE:s",
        "CHARTEVENTS": "ROW_ID:i SUBJECT_ID:i HADM_ID:i ICUSTAY_ID:i ITEMID:i CHARTTIME:t STORETIME:t CGID:i VALUE:s VALUENUM:f VALUEUOM:s "
        "WARNING:i ERROR:i RESULTSTATUS:s STOPPED:s",
        "INPUTEVENTS_CV": "ROW_ID:i SUBJECT_ID:i HADM_ID:i ICUSTAY_ID:i CHARTTIME:t ITEMID:i AMOUNT:f AMOUNTUOM:s RATE:f RATEUOM:s STORETIME:t "
        "CGID:i ORDERID:i LINKORDERID:i STOPPED:s NEWBOTTLE:i ORIGINALAMOUNT:f ORIGINALAMOUNTUOM:s ORIGINALROUTE:s ORIGINALRATE:f ORIGINALRATEUOM:s "
        "ORIGINALSITE:s",
        "OUTPUTEVENTS": "ROW_ID:i SUBJECT_ID:i HADM_ID:i ICUSTAY_ID:i CHARTTIME:t ITEMID:i VALUE:f VALUEUOM:s STORETIME:t CGID:i STOPPED:s "
        "NEWBOTTLE:s ISERROR:i",
        "MICROBIOLOGYEVENTS": "ROW_ID:i SUBJECT_ID:i HADM_ID:i CHARTDATE:t CHARTTIME:t SPEC_ITEMID:i SPEC_TYPE_DESC:s ORG_ITEMID:i ORG_NAME:s "
        "ISOLATE_NUM:i AB_ITEMID:i AB_NAME:s DILUTION_TEXT:s DILUTION_COMPARISON:s DILUTION_VALUE:f INTERPRETATION:s",
    }.items()
}
"""Table -> column -> type: `i` integer, `f` float, `s` text, `t` time in seconds."""

_TYPES = {"i": pa.int64(), "f": pa.float64(), "s": pa.string(), "t": pa.timestamp("s")}


def raw_tables(cohort: Sequence[Patient], seed: int) -> Iterator[tuple[str, pa.Table]]:
    """Name and content of every raw table. The large ones are made one after the other, so that only one is held at a time by the generator."""
    yield "PATIENTS", _table("PATIENTS", _patients(cohort))
    yield "ADMISSIONS", _table("ADMISSIONS", _admissions(_all_admissions(cohort)))
    yield "ICUSTAYS", _table("ICUSTAYS", _intensive_stays(_all_admissions(cohort)))
    yield "TRANSFERS", _table("TRANSFERS", _transfers(_all_admissions(cohort)))
    for name, rows in _dictionaries().items():
        yield name, _table(name, {column: [row[position] for row in rows] for position, column in enumerate(list(RAW_COLUMNS[name])[1:])})
    for name in ("DIAGNOSES_ICD", "PROCEDURES_ICD"):
        yield name, _table(name, _codes(_all_admissions(cohort), name))
    yield "LABEVENTS", _table("LABEVENTS", events.lab_events(cohort, seed))
    yield "PRESCRIPTIONS", _table("PRESCRIPTIONS", events.prescriptions(cohort, seed))
    yield "CHARTEVENTS", _table("CHARTEVENTS", events.chart_events(cohort, seed))
    yield "INPUTEVENTS_CV", _table("INPUTEVENTS_CV", events.input_events(cohort, seed))
    yield "OUTPUTEVENTS", _table("OUTPUTEVENTS", events.output_events(cohort, seed))
    yield "MICROBIOLOGYEVENTS", _table("MICROBIOLOGYEVENTS", events.microbiology_events(cohort, seed))


def _table(name: str, columns: events.Columns) -> pa.Table:
    """A raw table with all its columns: ROW_ID counts from 1, and what is not given is empty."""
    length = len(next(iter(columns.values())))
    arrays = {"ROW_ID": pa.array(np.arange(1, length + 1))}
    for column, kind in RAW_COLUMNS[name].items():
        if column in columns:
            arrays[column] = _column(columns[column], _TYPES[kind])
        elif column != "ROW_ID":
            arrays[column] = pa.nulls(length, _TYPES[kind])
    return pa.table(arrays)


def _column(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    if isinstance(values, np.ma.MaskedArray):
        return pa.array(values.data, mask=np.ma.getmaskarray(values)).cast(kind)
    if isinstance(values, np.ndarray):
        return pa.array(values).cast(kind)
    return pa.array(values, type=pa.int64() if pa.types.is_timestamp(kind) else kind).cast(kind)


def _all_admissions(cohort: Sequence[Patient]) -> list[Admission]:
    return [admission for patient in cohort for admission in patient.admissions]


def _patients(cohort: Sequence[Patient]) -> events.Columns:
    return {
        "SUBJECT_ID": [patient.subject_id for patient in cohort],
        "GENDER": [patient.gender for patient in cohort],
        "DOB": [patient.birth for patient in cohort],
        "DOD": [patient.death for patient in cohort],
        "DOD_HOSP": [patient.death_in_hospital for patient in cohort],
        "DOD_SSN": [patient.death_elsewhere for patient in cohort],
        "EXPIRE_FLAG": [int(patient.death is not None) for patient in cohort],
    }


def _admissions(admissions: Sequence[Admission]) -> events.Columns:
    return {
        "SUBJECT_ID": [admission.subject_id for admission in admissions],
        "HADM_ID": [admission.hadm_id for admission in admissions],
        "ADMITTIME": [admission.start for admission in admissions],
        "DISCHTIME": [admission.end for admission in admissions],
        "DEATHTIME": [admission.end if admission.died else None for admission in admissions],
        "ADMISSION_TYPE": [admission.kind for admission in admissions],
        "ADMISSION_LOCATION": [admission.location for admission in admissions],
        "DISCHARGE_LOCATION": [admission.discharge_location for admission in admissions],
        "INSURANCE": [admission.insurance for admission in admissions],
        "LANGUAGE": [admission.language for admission in admissions],
        "RELIGION": [admission.religion for admission in admissions],
        "MARITAL_STATUS": [admission.marital_status for admission in admissions],
        "ETHNICITY": [admission.ethnicity for admission in admissions],
        "EDREGTIME": [admission.emergency_room[0] if admission.emergency_room else None for admission in admissions],
        "EDOUTTIME": [admission.emergency_room[1] if admission.emergency_room else None for admission in admissions],
        "DIAGNOSIS": [admission.condition.reason for admission in admissions],
        "HOSPITAL_EXPIRE_FLAG": [int(admission.died) for admission in admissions],
        "HAS_CHARTEVENTS_DATA": [int(bool(admission.intensive_stays)) for admission in admissions],
    }


def _intensive_stays(admissions: Sequence[Admission]) -> events.Columns:
    stays = [(admission, stay) for admission in admissions for stay in admission.intensive_stays]
    return {
        "SUBJECT_ID": [admission.subject_id for admission, _ in stays],
        "HADM_ID": [admission.hadm_id for admission, _ in stays],
        "ICUSTAY_ID": [stay.icustay_id for _, stay in stays],
        "DBSOURCE": ["carevue"] * len(stays),
        "FIRST_CAREUNIT": [stay.stretches[0].care_unit for _, stay in stays],
        "LAST_CAREUNIT": [stay.stretches[-1].care_unit for _, stay in stays],
        "FIRST_WARDID": [stay.stretches[0].ward for _, stay in stays],
        "LAST_WARDID": [stay.stretches[-1].ward for _, stay in stays],
        "INTIME": [stay.start for _, stay in stays],
        "OUTTIME": [stay.end for _, stay in stays],
        "LOS": [None if stay.end is None else round((stay.end - stay.start) / DAY, 4) for _, stay in stays],
    }


def _transfers(admissions: Sequence[Admission]) -> events.Columns:
    names = list(RAW_COLUMNS["TRANSFERS"])[1:]
    rows: list[tuple[Any, ...]] = []
    for admission in admissions:
        unit: str | None = None
        ward: int | None = None
        for number, stretch in enumerate(admission.stretches):
            hours = None if stretch.end is None else round((stretch.end - stretch.start) / HOUR, 2)
            kind = "transfer" if number else "admit"
            moved = (kind, unit, stretch.care_unit, ward, stretch.ward, stretch.start, stretch.end, hours)
            rows.append((admission.subject_id, admission.hadm_id, stretch.icustay_id, "carevue", *moved))
            unit, ward = stretch.care_unit, stretch.ward
        if admission.end is not None:
            rows.append((admission.subject_id, admission.hadm_id, None, "carevue", "discharge", unit, None, ward, None, admission.end, None, None))
    return {name: [row[position] for row in rows] for position, name in enumerate(names)}


def _codes(admissions: Sequence[Admission], name: str) -> events.Columns:
    rows = [
        (admission.subject_id, admission.hadm_id, number, code)
        for admission in admissions
        for number, code in enumerate(admission.diagnoses if name == "DIAGNOSES_ICD" else admission.procedures, 1)
    ]
    return {column: [row[position] for row in rows] for position, column in enumerate(list(RAW_COLUMNS[name])[1:])}


def _dictionaries() -> dict[str, list[tuple[Any, ...]]]:
    """Rows of the dictionary tables, without ROW_ID."""
    diagnoses = {**dictionaries.DIAGNOSES, **dictionaries.UNUSED_DIAGNOSES}
    labs = [(test.itemid, test.label, test.fluid, test.category, test.loinc) for test in dictionaries.LAB_TESTS]
    labs += [(*rest, loinc or None) for *rest, loinc in dictionaries.UNUSED_LAB_TESTS]  # type: ignore[misc]
    items: list[tuple[int, str | None, str, str | None]] = [
        (item.itemid, item.label, "chartevents", item.unit) for item in dictionaries.CHART_ITEMS + dictionaries.OTHER_CHART_ITEMS
    ]
    items += [(itemid, label, "inputevents_cv", "ml") for itemid, label, _ in dictionaries.INPUTS]
    items += [(itemid, label, "inputevents_cv", unit) for itemid, label, unit, _ in dictionaries.OTHER_INPUTS]
    items += [(itemid, label, "outputevents", "ml") for itemid, label, _ in dictionaries.OUTPUTS]
    items += [(itemid, label, table, None) for itemid, label, table in dictionaries.UNUSED_ITEMS]
    return {
        "D_ICD_DIAGNOSES": [(code, *titles) for code, titles in sorted(diagnoses.items())],
        "D_ICD_PROCEDURES": [(code, *titles) for code, titles in sorted(dictionaries.PROCEDURES.items())] + [dictionaries.REPEATED_PROCEDURE],
        "D_LABITEMS": sorted(labs),
        "D_ITEMS": [
            (itemid, label, None, "carevue", table, None, unit, None, None) for itemid, label, table, unit in sorted(items, key=lambda item: item[0])
        ],
    }
