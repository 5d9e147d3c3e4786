"""The raw tables: their shape, their bytes, and whether the people in them could be people."""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from medagentgym.config import SyntheticConfig
from medagentgym.errors import UserError
from medagentgym.synthetic import generate
from medagentgym.synthetic.tables import RAW_COLUMNS

NOW = pd.Timestamp("2105-12-31 23:59:00")
TABLES = {
    "ADMISSIONS", "PATIENTS", "ICUSTAYS", "TRANSFERS", "D_ICD_DIAGNOSES", "D_ICD_PROCEDURES", "D_LABITEMS", "D_ITEMS", "DIAGNOSES_ICD",
    "PROCEDURES_ICD", "LABEVENTS", "PRESCRIPTIONS", "CHARTEVENTS", "INPUTEVENTS_CV", "OUTPUTEVENTS", "MICROBIOLOGYEVENTS",
}  # fmt: skip


def digests(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.rglob("*")) if file.is_file()}


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "medagentgym.synthetic", *arguments, str(folder)]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False)


def test_the_same_configuration_gives_the_same_bytes_under_any_hash_seed_locale_time_zone_and_thread_count(tmp_path):
    arguments = ("--patients", "25", "--seed", "-7", "--train", "30", "--test", "30")
    first = run(tmp_path / "a", *arguments, PYTHONHASHSEED="1", LC_ALL="C", TZ="Asia/Tokyo", OMP_NUM_THREADS="1", PYTHONUTF8="0")
    second = run(tmp_path / "b", *arguments, PYTHONHASHSEED="77", LC_ALL="de_DE.UTF-8", TZ="America/Lima", OMP_NUM_THREADS="4", PYTHONUTF8="1")
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert len(digests(tmp_path / "a")) == 18
    assert digests(tmp_path / "a") == digests(tmp_path / "b")


def test_another_seed_gives_other_patients_and_other_questions(tmp_path):
    for seed in (1, 2):
        generate(SyntheticConfig(patients=12, seed=seed, train=5, test=5), tmp_path / str(seed))
    one, two = digests(tmp_path / "1"), digests(tmp_path / "2")
    same = {name for name in one if one[name] == two[name]}
    assert same == {f"raw/{name}.csv.gz" for name in TABLES if name.startswith("D_")}


def test_every_raw_table_is_there_with_all_its_columns_in_capitals_and_rows_counted_from_one(made_up):
    assert {file.name.removesuffix(".csv.gz") for file in (made_up.folder / "raw").iterdir()} == TABLES == set(RAW_COLUMNS)
    for name in TABLES:
        table = made_up.table(name)
        assert list(table.columns) == list(RAW_COLUMNS[name])
        assert list(table["ROW_ID"]) == list(range(1, len(table) + 1))
        assert len(table) > 0


def test_the_columns_are_those_of_the_published_tables(made_up, shared_data):
    for name in TABLES:
        with gzip.open(shared_data / "mimic_iii_demo" / f"{name}.csv.gz", "rt") as stream:
            assert list(made_up.table(name).columns) == stream.readline().strip().upper().split(",")


def test_the_gzip_header_holds_neither_a_time_nor_a_name(made_up):
    for file in (made_up.folder / "raw").iterdir():
        header = file.read_bytes()[:10]
        assert header[:4] == b"\x1f\x8b\x08\x00" and header[4:8] == b"\x00\x00\x00\x00"


def test_nothing_is_later_than_now_and_no_admission_is_earlier_than_2100(made_up):
    for name, columns in RAW_COLUMNS.items():
        times = tuple(column for column, kind in columns.items() if kind == "t")
        table = made_up.table(name, times)
        for column in times:
            assert not (pd.to_datetime(table[column]) > NOW).any(), (name, column)
    admissions = made_up.table("ADMISSIONS", ("ADMITTIME",))
    assert admissions["ADMITTIME"].min() >= pd.Timestamp("2100-01-01")


def test_a_tenth_of_the_patients_are_in_hospital_now_on_their_last_visit(made_up):
    admissions = made_up.table("ADMISSIONS", ("ADMITTIME", "DISCHTIME"))
    still = admissions[admissions["DISCHTIME"].isna()]
    assert len(still) == still["SUBJECT_ID"].nunique() == round(0.1 * made_up.config.patients)
    assert still["DISCHARGE_LOCATION"].isna().all()
    latest = admissions.groupby("SUBJECT_ID")["ADMITTIME"].max()
    assert (latest[still["SUBJECT_ID"]].to_numpy() == still["ADMITTIME"].to_numpy()).all()
    stays = made_up.table("ICUSTAYS")
    assert set(stays[stays["OUTTIME"].isna()]["HADM_ID"]) < set(still["HADM_ID"])


def test_visits_of_a_patient_follow_each_other_and_ages_are_those_of_adults_under_ninety(made_up):
    admissions = made_up.table("ADMISSIONS", ("ADMITTIME", "DISCHTIME")).sort_values(["SUBJECT_ID", "ADMITTIME"])
    left = admissions["DISCHTIME"].fillna(NOW)
    assert (left > admissions["ADMITTIME"]).all()
    repeated = admissions["SUBJECT_ID"].eq(admissions["SUBJECT_ID"].shift())
    assert repeated.sum() > 20
    assert (admissions["ADMITTIME"] > left.shift())[repeated].all()
    born = made_up.table("PATIENTS", ("DOB",)).set_index("SUBJECT_ID")["DOB"]
    age = (admissions["ADMITTIME"] - admissions["SUBJECT_ID"].map(born)).dt.days / 365.25
    assert age.between(18, 90).all()


def test_people_die_in_hospital_and_elsewhere_and_never_come_back(made_up):
    patients = made_up.table("PATIENTS", ("DOD",)).set_index("SUBJECT_ID")
    admissions = made_up.table("ADMISSIONS", ("ADMITTIME", "DISCHTIME", "DEATHTIME"))
    assert patients["DOD_HOSP"].notna().sum() > 3 and patients["DOD_SSN"].notna().sum() > 3 and patients["DOD"].isna().sum() > 30
    died = admissions[admissions["DEATHTIME"].notna()]
    assert (died["DISCHARGE_LOCATION"] == "DEAD/EXPIRED").all() and (died["HOSPITAL_EXPIRE_FLAG"] == 1).all()
    assert set(died["SUBJECT_ID"]) == set(patients[patients["DOD_HOSP"].notna()].index)
    dead = admissions[admissions["SUBJECT_ID"].isin(patients[patients["DOD"].notna()].index)]
    assert (dead["DISCHTIME"].dt.normalize() <= dead["SUBJECT_ID"].map(patients["DOD"])).all()


def test_wards_fill_the_visit_without_a_gap_of_a_minute_and_stays_lie_inside(made_up):
    admissions = made_up.table("ADMISSIONS", ("ADMITTIME", "DISCHTIME")).set_index("HADM_ID")
    transfers = made_up.table("TRANSFERS", ("INTIME", "OUTTIME"))
    for hadm_id, moves in transfers[transfers["EVENTTYPE"] != "discharge"].groupby("HADM_ID"):
        assert moves["INTIME"].iloc[0] == admissions["ADMITTIME"][hadm_id]
        gaps = (moves["INTIME"].iloc[1:].to_numpy() - moves["OUTTIME"].iloc[:-1].to_numpy()).astype("timedelta64[s]").astype(int)
        assert ((gaps >= 0) & (gaps < 60)).all()
        last, left = moves["OUTTIME"].iloc[-1], admissions["DISCHTIME"][hadm_id]
        assert last == left or (pd.isna(last) and pd.isna(left))
    stays = made_up.table("ICUSTAYS", ("INTIME", "OUTTIME"))
    assert stays.groupby("HADM_ID").size().max() > 1
    assert (stays["FIRST_CAREUNIT"] != stays["LAST_CAREUNIT"]).any()
    assert (stays["INTIME"] >= stays["HADM_ID"].map(admissions["ADMITTIME"])).all()


def test_measurements_of_one_thing_in_one_visit_never_share_a_time(made_up):
    for table, keys in (("LABEVENTS", ["SUBJECT_ID", "ITEMID", "CHARTTIME"]), ("CHARTEVENTS", ["SUBJECT_ID", "ITEMID", "CHARTTIME"]),
                        ("INPUTEVENTS_CV", ["SUBJECT_ID", "ITEMID", "CHARTTIME"]), ("OUTPUTEVENTS", ["SUBJECT_ID", "ITEMID", "CHARTTIME"]),
                        ("PRESCRIPTIONS", ["HADM_ID", "DRUG", "STARTDATE"])):  # fmt: skip
        assert not made_up.table(table).duplicated(keys).any(), table


def test_values_follow_the_illness(made_up):
    admissions = made_up.table("ADMISSIONS").set_index("HADM_ID")["DIAGNOSIS"]
    labs = made_up.table("LABEVENTS")
    at_first = labs[(labs["ITEMID"] == 50912) & labs["HADM_ID"].notna()].groupby("HADM_ID")["VALUENUM"].first()
    failing = at_first.index.map(admissions) == "ACUTE RENAL FAILURE"
    assert at_first[failing].median() > 1.5 * at_first[~failing].median()
    vitals = made_up.table("CHARTEVENTS")
    hot = vitals["VALUENUM"][(vitals["ITEMID"] == 677) & (vitals["HADM_ID"].map(admissions) == "SEPSIS")]
    assert hot.median() > vitals["VALUENUM"][vitals["ITEMID"] == 677].median() + 0.2
    wide = vitals.pivot_table(index=["ICUSTAY_ID", "CHARTTIME"], columns="ITEMID", values="VALUENUM")
    both = wide[[51, 8368]].dropna()
    assert len(both) > 1000 and (both[51] > both[8368]).all()


def test_there_are_rows_of_every_sort_that_the_task_tables_leave_out(made_up):
    labs, charts = made_up.table("LABEVENTS"), made_up.table("CHARTEVENTS")
    for table, column in ((labs, "HADM_ID"), (labs, "VALUENUM"), (labs, "VALUEUOM"), (charts, "ICUSTAY_ID"), (charts, "VALUENUM"),
                          (charts, "VALUEUOM"), (made_up.table("PRESCRIPTIONS"), "ENDDATE"), (made_up.table("PRESCRIPTIONS"), "DOSE_VAL_RX"),
                          (made_up.table("MICROBIOLOGYEVENTS"), "CHARTTIME"), (made_up.table("OUTPUTEVENTS"), "VALUEUOM")):  # fmt: skip
        assert 0 < table[column].isna().mean() < 0.15, column
    assert not charts["ITEMID"].isin([677, 834, 211, 618, 51, 8368, 52, 762, 920]).all()
    assert (made_up.table("INPUTEVENTS_CV")["AMOUNTUOM"] != "ml").any()
    known = set(made_up.table("D_ICD_DIAGNOSES")["ICD9_CODE"])
    assert not made_up.table("DIAGNOSES_ICD")["ICD9_CODE"].isin(known).all()
    drugs = made_up.table("PRESCRIPTIONS")
    assert drugs.groupby("DRUG")["DOSE_UNIT_RX"].nunique().max() > 1
    assert drugs["DOSE_VAL_RX"].str.contains(",").any() and drugs["DOSE_VAL_RX"].str.contains(".", regex=False).any()
    assert made_up.table("D_ICD_PROCEDURES")["ICD9_CODE"].duplicated().any()


def test_a_disk_that_fills_up_leaves_nothing_behind(tmp_path):
    code = (
        "import resource, signal, sys; from pathlib import Path; from medagentgym.config import SyntheticConfig;"
        "from medagentgym.synthetic import generate;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000));"
        "generate(SyntheticConfig(patients=50), Path(sys.argv[1]))"
    )
    result = subprocess.run([sys.executable, "-B", "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False)
    assert "File too large" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_too_many_questions_for_the_patients_are_refused_and_nothing_is_left(tmp_path):
    with pytest.raises(UserError, match=r"synthetic\.test: 10 patients give no more than \d+ different questions"):
        generate(SyntheticConfig(patients=10, seed=1, train=0, test=100_000), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_data_that_are_there_already_are_not_touched(tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "mine.csv").write_text("precious")
    with pytest.raises(UserError, match="is there already"):
        generate(SyntheticConfig(patients=10, train=1, test=1), tmp_path)
    assert digests(tmp_path).keys() == {"raw/mine.csv"}


def test_the_smallest_cohort_works_for_many_seeds(tmp_path):
    for seed in range(12):
        generate(SyntheticConfig(patients=10, seed=seed, train=20, test=20), tmp_path / str(seed))


def test_the_command_refuses_what_it_cannot_do_in_one_line(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("x")
    (tmp_path / "file").write_text("x")
    for folder, arguments, said in (
        (tmp_path / "full", (), "not empty"),
        (tmp_path / "file", (), "not a folder"),
        (tmp_path / "new", ("--patients", "3"), "--patients"),
        (Path("/proc/no/such"), ("--patients", "10"), "cannot be written"),
    ):
        result = run(folder, *arguments)
        assert result.returncode == 2
        assert said in result.stderr and len(result.stderr.splitlines()) == 1, result.stderr
    assert not (tmp_path / "new").exists()
