"""A small raw MIMIC-III, made up row by row, for tests that need to know what is in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from raw_tables import Rows, write_tables

COLUMNS = {
    "PATIENTS": "ROW_ID SUBJECT_ID GENDER DOB DOD EXPIRE_FLAG",
    "ADMISSIONS": "ROW_ID SUBJECT_ID HADM_ID ADMITTIME DISCHTIME ADMISSION_TYPE ADMISSION_LOCATION DISCHARGE_LOCATION INSURANCE LANGUAGE RELIGION "
    "MARITAL_STATUS ETHNICITY DIAGNOSIS",
    "D_ICD_DIAGNOSES": "ROW_ID ICD9_CODE SHORT_TITLE LONG_TITLE",
    "D_ICD_PROCEDURES": "ROW_ID ICD9_CODE SHORT_TITLE LONG_TITLE",
    "D_LABITEMS": "ROW_ID ITEMID LABEL FLUID CATEGORY",
    "D_ITEMS": "ROW_ID ITEMID LABEL LINKSTO",
    "DIAGNOSES_ICD": "ROW_ID SUBJECT_ID HADM_ID SEQ_NUM ICD9_CODE",
    "PROCEDURES_ICD": "ROW_ID SUBJECT_ID HADM_ID SEQ_NUM ICD9_CODE",
    "LABEVENTS": "ROW_ID SUBJECT_ID HADM_ID ITEMID CHARTTIME VALUE VALUENUM VALUEUOM FLAG",
    "PRESCRIPTIONS": "ROW_ID SUBJECT_ID HADM_ID ICUSTAY_ID STARTDATE ENDDATE DRUG_TYPE DRUG FORMULARY_DRUG_CD DOSE_VAL_RX DOSE_UNIT_RX ROUTE",
    "CHARTEVENTS": "ROW_ID SUBJECT_ID HADM_ID ICUSTAY_ID ITEMID CHARTTIME VALUE VALUENUM VALUEUOM",
    "INPUTEVENTS_CV": "ROW_ID SUBJECT_ID HADM_ID ICUSTAY_ID CHARTTIME ITEMID AMOUNT AMOUNTUOM",
    "OUTPUTEVENTS": "ROW_ID SUBJECT_ID HADM_ID ICUSTAY_ID CHARTTIME ITEMID VALUE VALUEUOM",
    "MICROBIOLOGYEVENTS": "ROW_ID SUBJECT_ID HADM_ID CHARTDATE CHARTTIME SPEC_TYPE_DESC ORG_NAME",
    "ICUSTAYS": "ROW_ID SUBJECT_ID HADM_ID ICUSTAY_ID FIRST_CAREUNIT LAST_CAREUNIT FIRST_WARDID LAST_WARDID INTIME OUTTIME",
    "TRANSFERS": "ROW_ID SUBJECT_ID HADM_ID ICUSTAY_ID EVENTTYPE PREV_CAREUNIT CURR_CAREUNIT CURR_WARDID INTIME OUTTIME",
}

ADULTS = range(1, 7)
CHILD, ELDER, LONG_STAYER = 7, 8, 9

QUESTIONS: Rows = [
    {
        "question": "How many female patients are there?",
        "template": "count the number of female patients.",
        "query": "select count(*) from patients where patients.gender = 'f'",
        "is_impossible": False,
        "id": "females",
    },
    {
        "question": "What's patient 3's gender?",
        "template": "what is the gender of patient 3?",
        "query": "select patients.gender from patients where patients.subject_id = 3",
        "is_impossible": False,
        "id": "gender",
    },
    {"question": "Does patient 3 have an appointment?", "template": "appointment", "query": "null", "is_impossible": True, "id": "impossible"},
    {
        "question": "Has patient 2 been given warfarin?",
        "template": "has patient 2 been prescribed warfarin?",
        "query": "select count(*)>0 from prescriptions where prescriptions.hadm_id in ( select admissions.hadm_id from admissions where "
        "admissions.subject_id = 2 ) and prescriptions.drug = 'warfarin'",
        "is_impossible": False,
        "id": "warfarin",
    },
    {
        "question": "How is insulin taken?",
        "template": "what is the intake method of insulin?",
        "query": "select distinct prescriptions.route from prescriptions where prescriptions.drug = 'insulin'",
        "is_impossible": False,
        "id": "insulin",
    },
]
"""Golds on the tables below: 3, f or m, none, True, empty."""


def raw_rows() -> dict[str, Rows]:
    """The rows of every table.

    Patients 1 to 6 are adults with one stay of four days each (patient 2 has a second one); 7 is a child, 8 is over 89 (born 300 years early), 9 has
    a stay of 60 days.
    """
    rows: dict[str, Rows] = {name: [] for name in COLUMNS}

    def add(table: str, **values: Any) -> None:
        rows[table].append({"ROW_ID": 1000 + 7 * len(rows[table]), **values})

    def admission(patient: int, number: int, start: str, end: str) -> None:
        add(
            "ADMISSIONS",
            SUBJECT_ID=patient,
            HADM_ID=number,
            ADMITTIME=start,
            DISCHTIME=end,
            ADMISSION_TYPE="EMERGENCY",
            ADMISSION_LOCATION="EMERGENCY ROOM ADMIT",
            DISCHARGE_LOCATION="HOME",
            INSURANCE=" Medicare ",
            MARITAL_STATUS="MARRIED",
            ETHNICITY="WHITE",
            DIAGNOSIS="SEPSIS\\FEVER  ",
        )

    for patient in [*ADULTS, CHILD, ELDER, LONG_STAYER]:
        born = {CHILD: 2145, ELDER: 1850}.get(patient, 2080 + patient)
        died = {"DOD": "2190-01-01 00:00:00", "EXPIRE_FLAG": 1} if patient == 1 else {"EXPIRE_FLAG": 0}
        add("PATIENTS", SUBJECT_ID=patient, GENDER="FM"[patient % 2], DOB=f"{born}-03-04 00:00:00", **died)
        admission(patient, 10 * patient, "2150-03-01 08:00:00", "2150-04-30 09:00:00" if patient == LONG_STAYER else "2150-03-05 09:00:00")
    admission(2, 21, "2150-06-01 08:00:00", "2150-06-03 10:30:00")

    add("D_ICD_DIAGNOSES", ICD9_CODE="4019", SHORT_TITLE="Hypertension NOS", LONG_TITLE="Unspecified essential hypertension")
    add("D_ICD_DIAGNOSES", ICD9_CODE="0389", SHORT_TITLE="Septicemia NOS", LONG_TITLE="Unspecified septicemia")
    add("D_ICD_PROCEDURES", ICD9_CODE="3893", SHORT_TITLE="Venous cath NEC", LONG_TITLE="Venous catheterization, not elsewhere classified")
    add("D_ICD_PROCEDURES", ICD9_CODE="3893", SHORT_TITLE="A second title", LONG_TITLE="Of the same code")
    add("D_LABITEMS", ITEMID=50971, LABEL="Potassium", FLUID="Blood", CATEGORY="Chemistry")
    for item, label, table in [
        (211, "Heart Rate", "chartevents"),
        (30056, "Po Intake", "inputevents_cv"),
        (40055, "Urine Out Foley", "outputevents"),
    ]:
        add("D_ITEMS", ITEMID=item, LABEL=label, LINKSTO=table)
    add("D_ITEMS", ITEMID=1, LABEL="", LINKSTO="chartevents")
    add("D_ITEMS", ITEMID=2, LABEL="Something else", LINKSTO="datetimeevents")

    for stay in list(rows["ADMISSIONS"]):
        patient, number = stay["SUBJECT_ID"], stay["HADM_ID"]
        day = stay["ADMITTIME"][:10]
        of_stay = {"SUBJECT_ID": patient, "HADM_ID": number}
        in_icu = {**of_stay, "ICUSTAY_ID": 2000 + number}
        add("DIAGNOSES_ICD", **of_stay, SEQ_NUM=1, ICD9_CODE="4019")
        add("DIAGNOSES_ICD", **of_stay, SEQ_NUM=2, ICD9_CODE="99999")
        add("PROCEDURES_ICD", **of_stay, SEQ_NUM=1, ICD9_CODE="3893")
        add("LABEVENTS", **of_stay, ITEMID=50971, CHARTTIME=f"{day} 10:00:00", VALUE="4.1", VALUENUM="4.1", VALUEUOM="mEq/L", FLAG="abnormal")
        add("LABEVENTS", SUBJECT_ID=patient, ITEMID=50971, CHARTTIME=f"{day} 11:00:00", VALUE="4.2", VALUENUM="4.2", VALUEUOM="mEq/L")
        add("LABEVENTS", **of_stay, ITEMID=50971, CHARTTIME=f"{day} 12:00:00", VALUE="HEMOLYZED", VALUEUOM="mEq/L")
        for drug, dose, unit in [("Warfarin", "5", "mg"), ("Warfarin", "2.5", "mg"), ("Heparin", "5,000", "UNIT"), ("Warfarin", "7", "AMP")]:
            if unit == "AMP" and patient != 1:
                continue
            add(
                "PRESCRIPTIONS",
                **of_stay,
                STARTDATE=f"{day} 00:00:00",
                ENDDATE=f"{day} 00:00:00",
                DRUG_TYPE="MAIN",
                DRUG=drug,
                FORMULARY_DRUG_CD=f"{drug[:4].upper()}{dose}",
                DOSE_VAL_RX=dose,
                DOSE_UNIT_RX=unit,
                ROUTE="PO",
            )
        add("PRESCRIPTIONS", **of_stay, STARTDATE=f"{day} 00:00:00", DRUG="Warfarin", DOSE_VAL_RX="5", DOSE_UNIT_RX="mg", ROUTE="PO")
        add("CHARTEVENTS", **in_icu, ITEMID=211, CHARTTIME=f"{day} 10:00:00", VALUE="88", VALUENUM="88", VALUEUOM="BPM")
        add("CHARTEVENTS", **in_icu, ITEMID=223761, CHARTTIME=f"{day} 10:00:00", VALUE="98", VALUENUM="98", VALUEUOM="?F")
        add("CHARTEVENTS", **of_stay, ITEMID=211, CHARTTIME=f"{day} 11:00:00", VALUE="90", VALUENUM="90", VALUEUOM="BPM")
        for unit in ("ml", "mg"):
            add("INPUTEVENTS_CV", **in_icu, CHARTTIME=f"{day} 10:00:00", ITEMID=30056, AMOUNT="120", AMOUNTUOM=unit)
            add("OUTPUTEVENTS", **in_icu, CHARTTIME=f"{day} 10:00:00", ITEMID=40055, VALUE="45.5", VALUEUOM=unit)
        add(
            "MICROBIOLOGYEVENTS",
            **of_stay,
            CHARTDATE=f"{day} 00:00:00",
            CHARTTIME=f"{day} 10:00:00",
            SPEC_TYPE_DESC="BLOOD CULTURE",
            ORG_NAME="YEAST",
        )
        add("MICROBIOLOGYEVENTS", **of_stay, CHARTDATE=f"{day} 00:00:00", SPEC_TYPE_DESC="URINE")
        add(
            "ICUSTAYS",
            **in_icu,
            FIRST_CAREUNIT="MICU",
            LAST_CAREUNIT="MICU",
            FIRST_WARDID=52,
            LAST_WARDID=52,
            INTIME=stay["ADMITTIME"],
            OUTTIME=stay["DISCHTIME"],
        )
        add("TRANSFERS", **in_icu, EVENTTYPE="admit", CURR_CAREUNIT="MICU", CURR_WARDID=52, INTIME=stay["ADMITTIME"], OUTTIME=stay["DISCHTIME"])
        add("TRANSFERS", **of_stay, EVENTTYPE="discharge", PREV_CAREUNIT="MICU")
    return rows


def write_raw(folder: Path, rows: Mapping[str, Rows] | None = None, *, compressed: bool = False, lower_case: bool = False) -> Path:
    """Write raw tables (default: `raw_rows()`) as `*.csv` or `*.csv.gz`, names and headers in capitals or not."""
    spelt = str.lower if lower_case else str
    return write_tables(folder, raw_rows() if rows is None else rows, COLUMNS, compressed=compressed, spelt=spelt)


def write_questions(path: Path, questions: Rows = QUESTIONS) -> Path:
    """Write questions as EHRSQL does: one JSON list; or as JSON Lines where the path says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(question) + "\n" for question in questions), encoding="utf-8")
    else:
        path.write_text(json.dumps(questions), encoding="utf-8")
    return path
