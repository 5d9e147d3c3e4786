"""What the agent knows of the tables of eICU: it sees them through views in the shape of MIMIC-III, of which its rules speak.

A hospital visit is an admission, a unit stay a stay in intensive care, and every event knows both.
"""

from __future__ import annotations

from medagentgym.agent.baseline_rules.schema import Attribute, EventKind, Schema

_VITAL_SIGNS = ("temperature", "sao2", "heartrate", "respiration", "systemicsystolic", "systemicdiastolic", "systemicmean")
_STAYS = "visits.uniquepid AS SUBJECT_ID, visits.patienthealthsystemstayid AS HADM_ID, visits.patientunitstayid AS ICUSTAY_ID"


def _events(table: str, columns: str, where: str = "") -> str:
    """A query for the rows of a table with the stays that they belong to."""
    condition = f" WHERE {where}" if where else ""
    return f"SELECT {_STAYS}, {columns} FROM main.{table} JOIN main.patient AS visits USING (patientunitstayid){condition}"


_VIEWS = {
    "PATIENTS": "SELECT uniquepid AS SUBJECT_ID, MIN(gender) AS SEX, substr(MIN(gender), 1, 1) AS GENDER,\n"
    "  MAX(CASE WHEN hospitaldischargestatus = 'expired' THEN hospitaldischargetime END) AS DOD\nFROM main.patient GROUP BY uniquepid",
    "ADMISSIONS": "SELECT uniquepid AS SUBJECT_ID, patienthealthsystemstayid AS HADM_ID, MIN(hospitaladmittime) AS ADMITTIME,\n"
    "  MIN(hospitaldischargetime) AS DISCHTIME, MIN(age) AS AGE, MIN(ethnicity) AS ETHNICITY, MIN(hospitaladmitsource) AS ADMISSION_LOCATION,\n"
    "  MIN(hospitaldischargestatus) AS DISCHARGE_STATUS, MIN(hospitalid) AS HOSPITALID,\n"
    "  CASE MIN(hospitaldischargestatus) WHEN 'expired' THEN 'dead/expired' END AS DISCHARGE_LOCATION\n"
    "FROM main.patient GROUP BY patienthealthsystemstayid",
    "ICUSTAYS": f"SELECT {_STAYS}, unitadmittime AS INTIME, unitdischargetime AS OUTTIME, wardid AS WARDID, admissionweight AS WEIGHT,\n"
    "  admissionheight AS HEIGHT, dischargeweight AS DISCHARGE_WEIGHT\nFROM main.patient AS visits",
    "DIAGNOSES": _events("diagnosis", "diagnosisid AS ROW_ID, diagnosistime AS CHARTTIME, diagnosisname AS NAME"),
    "TREATMENTS": _events("treatment", "treatmentid AS ROW_ID, treatmenttime AS CHARTTIME, treatmentname AS NAME"),
    "LABS": _events("lab", "labid AS ROW_ID, labresulttime AS CHARTTIME, labname AS NAME, labresult AS VALUE"),
    "MEDICATIONS": _events(
        "medication",
        "medicationid AS ROW_ID, drugstarttime AS STARTDATE, drugstoptime AS ENDDATE, drugname AS DRUG, dosage AS DOSAGE, routeadmin AS ROUTE",
    ),
    "ALLERGIES": _events("allergy", "allergytime AS CHARTTIME, allergyname AS NAME, drugname AS DRUG"),
    "INTAKES": _events("intakeoutput", "intakeoutputtime AS CHARTTIME, celllabel AS NAME, cellvaluenumeric AS VALUE", "cellpath LIKE '%intake%'"),
    "OUTPUTS": _events("intakeoutput", "intakeoutputtime AS CHARTTIME, celllabel AS NAME, cellvaluenumeric AS VALUE", "cellpath LIKE '%output%'"),
    "CULTURES": _events("microlab", "culturetakentime AS CHARTTIME, culturesite AS NAME, organism AS ORG_NAME"),
    "VITALS": "\nUNION ALL\n".join(
        _events("vitalperiodic", f"observationtime AS CHARTTIME, '{sign}' AS NAME, {sign} AS VALUE", f"{sign} IS NOT NULL") for sign in _VITAL_SIGNS
    ),
    "COST": "SELECT uniquepid AS SUBJECT_ID, patienthealthsystemstayid AS HADM_ID, eventtype AS EVENT_TYPE, eventid AS EVENT_ID,\n"
    "  chargetime AS CHARGETIME, cost AS COST\nFROM main.cost",
}

_KINDS = (
    EventKind("diagnosis", "DIAGNOSES", "CHARTTIME", "NAME", charged_as="diagnosis", found_in=(("diagnosis", "diagnosisname"),)),
    EventKind("procedure", "TREATMENTS", "CHARTTIME", "NAME", charged_as="treatment", found_in=(("treatment", "treatmentname"),)),
    EventKind("lab", "LABS", "CHARTTIME", "NAME", value="VALUE", charged_as="lab", found_in=(("lab", "labname"),)),
    EventKind("vital", "VITALS", "CHARTTIME", "NAME", value="VALUE", found_in=(("vitalperiodic", ""),), known_names=_VITAL_SIGNS),
    EventKind("drug", "MEDICATIONS", "STARTDATE", "DRUG", charged_as="medication", found_in=(("medication", "drugname"),)),
    EventKind("allergy", "ALLERGIES", "CHARTTIME", "NAME", found_in=(("allergy", "allergyname"),)),
    EventKind("intake", "INTAKES", "CHARTTIME", "NAME", value="VALUE", found_in=(("intakeoutput", "celllabel"),)),
    EventKind("output", "OUTPUTS", "CHARTTIME", "NAME", value="VALUE", found_in=(("intakeoutput", "celllabel"),)),
    EventKind("specimen", "CULTURES", "CHARTTIME", "NAME", found_in=(("microlab", "culturesite"),)),
    EventKind("organism", "CULTURES", "CHARTTIME", "ORG_NAME", present=("ORG_NAME",), found_in=(("microlab", "organism"),)),
    EventKind("ward", "ICUSTAYS", "INTIME", "WARDID", present=("WARDID",), is_number=True),
    EventKind("icu stay", "ICUSTAYS", "INTIME", "WARDID"),
    EventKind("admission", "ADMISSIONS", "ADMITTIME", "ADMISSION_LOCATION", found_in=(("patient", "hospitaladmitsource"),)),
    EventKind("admission place", "ADMISSIONS", "ADMITTIME", "ADMISSION_LOCATION", found_in=(("patient", "hospitaladmitsource"),)),
    EventKind("discharge", "ADMISSIONS", "DISCHTIME", "DISCHARGE_LOCATION", present=("DISCHTIME",)),
)

_ATTRIBUTES = (
    Attribute(r"\bgender\b|\bsex\b", "patient.SEX", None),
    Attribute(r"\bage of\b|\bhow old\b|\bage\?", "visit.AGE", "admission"),
    Attribute(r"ethnicity|\brace\b", "visit.ETHNICITY", "admission"),
    Attribute(r"discharge status|\balive or\b", "visit.DISCHARGE_STATUS", "discharge"),
    Attribute("in which hospital", "visit.HOSPITALID", "admission"),
    Attribute("admission type|type .*admission|from where .*admi|source .*admission", "visit.ADMISSION_LOCATION", "admission"),
    Attribute(r"\bward\b", "event.WARDID", "ward"),
    Attribute("discharge weight", "event.DISCHARGE_WEIGHT", "icu stay"),
    Attribute("weight", "event.WEIGHT", "icu stay"),
    Attribute("height", "event.HEIGHT", "icu stay"),
    Attribute("organism|what was found", "event.ORG_NAME", "organism"),
    Attribute(r"\bdos(?:e|age)\b", "event.DOSAGE", "drug"),
)

EICU = Schema({kind.name: kind for kind in _KINDS}, _ATTRIBUTES, frozenset(_VIEWS) - {"PATIENTS", "ADMISSIONS", "COST"}, _VIEWS)


def fits(tables: str) -> bool:
    """Whether these are the tables of eICU."""
    return "vitalperiodic.csv (" in tables and "intakeoutput.csv (" in tables
