"""A small raw eICU, made up row by row, for tests that need to know what is in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from raw_tables import Rows, write_tables

COLUMNS = {
    "patient": "patientunitstayid patienthealthsystemstayid gender age ethnicity hospitalid wardid admissionheight hospitaladmittime24 "
    "hospitaladmitoffset hospitaladmitsource hospitaldischargeyear hospitaldischargeoffset hospitaldischargestatus unittype admissionweight "
    "dischargeweight unitdischargeoffset uniquepid",
    "diagnosis": "diagnosisid patientunitstayid activeupondischarge diagnosisoffset diagnosisstring icd9code diagnosispriority",
    "treatment": "treatmentid patientunitstayid treatmentoffset treatmentstring activeupondischarge",
    "lab": "labid patientunitstayid labresultoffset labtypeid labname labresult labresulttext",
    "medication": "medicationid patientunitstayid drugorderoffset drugstartoffset drugordercancelled drugname dosage routeadmin drugstopoffset",
    "allergy": "allergyid patientunitstayid allergyoffset drugname allergytype allergyname",
    "intakeOutput": "intakeoutputid patientunitstayid intakeoutputoffset cellpath celllabel cellvaluenumeric cellvaluetext",
    "microLab": "microlabid patientunitstayid culturetakenoffset culturesite organism antibiotic",
    "vitalPeriodic": "vitalperiodicid patientunitstayid observationoffset temperature sao2 heartrate respiration cvp systemicsystolic "
    "systemicdiastolic systemicmean",
}

ADULTS = tuple(f"002-{number}" for number in range(1, 7))
CHILD, ELDER, LONG_STAYER, UNKNOWN_SOURCE, UNKNOWN_SEX, OUT_OF_ORDER = "003-7", "003-8", "003-9", "003-10", "003-11", "003-12"

HOUR, DAY = 60, 24 * 60
"""In minutes, as the offsets are."""

QUESTIONS: Rows = [
    {
        "question": "How many women are there?",
        "template": "count the number of female patients.",
        "query": "select count( distinct patient.uniquepid ) from patient where patient.gender = 'female'",
        "is_impossible": False,
        "id": "females",
    },
    {
        "question": "What's patient 002-3's gender?",
        "template": "what is the gender of patient 002-3?",
        "query": "select distinct patient.gender from patient where patient.uniquepid = '002-3'",
        "is_impossible": False,
        "id": "gender",
    },
    {"question": "Does patient 002-3 have an appointment?", "template": "appointment", "query": "null", "is_impossible": True, "id": "impossible"},
    {
        "question": "Has patient 002-2 been given warfarin?",
        "template": "has patient 002-2 been prescribed warfarin?",
        "query": "select count(*)>0 from medication where medication.patientunitstayid in ( select patient.patientunitstayid from patient where "
        "patient.uniquepid = '002-2' ) and medication.drugname = 'warfarin'",
        "is_impossible": False,
        "id": "warfarin",
    },
    {
        "question": "Which breathing rates of patient 002-1 were normal?",
        "template": "which respirations of patient 002-1 were normal?",
        "query": "select vitalperiodic.respiration from vitalperiodic where vitalperiodic.patientunitstayid in ( select patient.patientunitstayid "
        "from patient where patient.uniquepid = '002-1' ) and vitalperiodic.respiration between respiration_lower and respiration_upper",
        "is_impossible": False,
        "id": "normal",
    },
    {
        "question": "How is insulin taken?",
        "template": "what is the intake method of insulin?",
        "query": "select distinct medication.routeadmin from medication where medication.drugname = 'insulin'",
        "is_impossible": False,
        "id": "insulin",
    },
]
"""Golds on the tables below: 4 (the old woman among them), male, none, True, 16, empty."""


def raw_rows() -> dict[str, Rows]:
    """The rows of every table.

    Patients 002-1 to 002-6 are adults with one hospital visit of four days each, a day before and a day after their unit stay of two days; 002-2 has
    a second visit in the next year, with two unit stays. The others are there to be left out, the old one excepted. Unit stay 101 is that of 002-1.
    """
    rows: dict[str, Rows] = {name: [] for name in COLUMNS}

    def add(table: str, **values: Any) -> None:
        number = COLUMNS[table].split()[0]
        rows[table].append(values if table == "patient" else {number: 1000 + 7 * len(rows[table]), **values})

    def stay(patient: str, unit_stay: int, **different: Any) -> None:
        add(
            "patient",
            **{
                "patientunitstayid": unit_stay,
                "patienthealthsystemstayid": 10 * unit_stay,
                "gender": ("Female", "Male")[unit_stay % 2],
                "age": 60 + unit_stay % 100,
                "ethnicity": "Caucasian",
                "hospitalid": 59,
                "wardid": 91,
                "admissionheight": 170.5,
                "hospitaladmittime24": "08:30:00",
                "hospitaladmitoffset": -DAY,
                "hospitaladmitsource": " Emergency Department ",
                "hospitaldischargeyear": 2014,
                "hospitaldischargeoffset": 3 * DAY,
                "hospitaldischargestatus": "Alive",
                "unittype": "MICU",
                "admissionweight": 80,
                "dischargeweight": 79.5,
                "unitdischargeoffset": 2 * DAY,
                "uniquepid": patient,
                **different,
            },
        )

    for number, patient in enumerate(ADULTS, 1):
        stay(patient, 100 + number)
    second = {"patienthealthsystemstayid": 2000, "hospitaldischargeyear": 2015, "age": 63, "gender": "Female"}
    stay("002-2", 201, **second, unitdischargeoffset=DAY)
    stay("002-2", 202, **second, hospitaladmitoffset=-2 * DAY, hospitaldischargeoffset=2 * DAY, unitdischargeoffset=DAY)
    stay(CHILD, 107, age=10)
    stay(ELDER, 108, age="> 89")
    stay(LONG_STAYER, 109, hospitaldischargeoffset=60 * DAY)
    stay(UNKNOWN_SOURCE, 110, hospitaladmitsource="")
    stay(UNKNOWN_SEX, 111, gender="Unknown")
    stay(OUT_OF_ORDER, 112)
    stay(OUT_OF_ORDER, 113, unitdischargeoffset=5 * DAY)

    for row in list(rows["patient"]):
        of_stay = {"patientunitstayid": row["patientunitstayid"]}
        add("diagnosis", **of_stay, diagnosisoffset=30, diagnosisstring="cardiovascular|shock / hypotension|sepsis|severe", icd9code="995.92, R65.2")
        add("diagnosis", **of_stay, diagnosisoffset=40, diagnosisstring="renal|disorder of kidney|acute renal failure|due to sepsis|x", icd9code="")
        add("diagnosis", **of_stay, diagnosisoffset=50, diagnosisstring="renal|disorder of kidney", icd9code="1")
        add("treatment", **of_stay, treatmentoffset=60, treatmentstring="pulmonary|ventilation and oxygenation|mechanical ventilation")
        add("lab", **of_stay, labresultoffset=70, labname="WBC x 1000", labresult="4.1", labresulttext="4.1")
        add("lab", **of_stay, labresultoffset=80, labname="WBC x 1000", labresulttext="hemolyzed")
        drug = {"drugstartoffset": -90, "drugstopoffset": 600, "drugordercancelled": "No", "dosage": "5 mg", "routeadmin": "PO"}
        add("medication", **of_stay, **{**drug, "drugname": "WARFARIN"})
        add("medication", **of_stay, **{**drug, "drugname": "HEPARIN", "drugordercancelled": "Yes"})
        for absent in ("drugname", "dosage", "routeadmin"):
            add("medication", **of_stay, **{**drug, "drugname": "ASPIRIN", absent: ""})
        add("allergy", **of_stay, allergyoffset=5, drugname="", allergytype="Non Drug", allergyname="Penicillins")
        for path, label in (
            ("I&O|Intake (ml)|Generic Intake (ml)|P.O. Intake", "P.O. Intake"),
            ("I&O|Output (ml)|Indwelling Catheter Output", "Indwelling Catheter Output"),
            ("I&O|Intake (ml)|Intake", "Intake"),
            ("I&O|Weight|Bodyweight (kg)", "Bodyweight (kg)"),
        ):
            add("intakeOutput", **of_stay, intakeoutputoffset=110, cellpath=f"flowsheet|{path}", celllabel=label, cellvaluenumeric="120.5")
        add("microLab", **of_stay, culturetakenoffset=120, culturesite="Blood, Venipuncture", organism="no growth")
        add("vitalPeriodic", **of_stay, observationoffset=130, temperature=37.5, heartrate=88, respiration=16)
    add("treatment", patientunitstayid=101, treatmentoffset=65, treatmentstring="surgery|pulmonary therapies|mechanical ventilation")
    return rows


def write_raw(folder: Path, rows: Mapping[str, Rows] | None = None, *, compressed: bool = False, upper_case: bool = False) -> Path:
    """Write raw tables (default: `raw_rows()`) as `*.csv` or `*.csv.gz`, names and headers in capitals or not."""
    spelt = str.upper if upper_case else str
    return write_tables(folder, raw_rows() if rows is None else rows, COLUMNS, compressed=compressed, spelt=spelt)
