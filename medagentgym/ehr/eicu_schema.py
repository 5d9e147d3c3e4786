"""The tables of `eicu`: EHRSQL's cut of the eICU Collaborative Research Database.

Sources: Pollard et al., The eICU Collaborative Research Database, Scientific Data 5:180178 (2018), https://physionet.org/content/eicu-crd/; Lee et
al., EHRSQL, NeurIPS 2022 Datasets and Benchmarks, https://github.com/glee4810/EHRSQL (names and order of tables and columns: its `tables.json`).
"""

from __future__ import annotations

from medagentgym.ehr.schema import NOW, Database, make_table

_TABLES = (
    make_table(
        "patient",
        "uniquepid:text patienthealthsystemstayid patientunitstayid gender:text age ethnicity:text hospitalid wardid admissionheight:real "
        "admissionweight:real dischargeweight:real hospitaladmittime:time hospitaladmitsource:text unitadmittime:time unitdischargetime:time "
        "hospitaldischargetime:time hospitaldischargestatus:text",
        "uniquepid",
        "patienthealthsystemstayid",
        key="patientunitstayid",
    ),
    make_table(
        "diagnosis",
        "diagnosisid patientunitstayid diagnosisname:text diagnosistime:time icd9code:text",
        "patientunitstayid",
        "diagnosisname",
        key="diagnosisid",
    ),
    make_table(
        "treatment",
        "treatmentid patientunitstayid treatmentname:text treatmenttime:time",
        "patientunitstayid",
        "treatmentname",
        key="treatmentid",
    ),
    make_table(
        "lab",
        "labid patientunitstayid labname:text labresult:real labresulttime:time",
        "patientunitstayid+labname",
        "labname",
        key="labid",
    ),
    make_table(
        "medication",
        "medicationid patientunitstayid drugname:text dosage:text routeadmin:text drugstarttime:time drugstoptime:time",
        "patientunitstayid",
        "drugname",
        key="medicationid",
    ),
    make_table(
        "cost",
        "costid uniquepid:text patienthealthsystemstayid eventtype:text eventid chargetime:time cost:real",
        "eventtype+eventid",
        "patienthealthsystemstayid",
        "uniquepid",
        key="costid",
    ),
    make_table(
        "allergy",
        "allergyid patientunitstayid drugname:text allergyname:text allergytime:time",
        "patientunitstayid",
        key="allergyid",
    ),
    make_table(
        "intakeoutput",
        "intakeoutputid patientunitstayid cellpath:text celllabel:text cellvaluenumeric:real intakeoutputtime:time",
        "patientunitstayid+celllabel",
        "celllabel",
        key="intakeoutputid",
    ),
    make_table(
        "microlab",
        "microlabid patientunitstayid culturesite:text organism:text culturetakentime:time",
        "patientunitstayid",
        "culturesite",
        key="microlabid",
    ),
    make_table(
        "vitalperiodic",
        "vitalperiodicid patientunitstayid temperature:real sao2:real heartrate:real respiration:real systemicsystolic:real systemicdiastolic:real "
        "systemicmean:real observationtime:time",
        "patientunitstayid+observationtime",
        key="vitalperiodicid",
    ),
)

EICU = Database("eicu", _TABLES, NOW)
"""10 tables of stays in intensive care."""
