"""The made-up cancer study, and what is expected of it, computed by plain means."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pandas as pd
import pytest
from scipy import stats

from medagentgym.programs.test_cases import TestCases
from medagentgym.studies import Study, lay_out
from medagentgym.synthetic.cancer_study import (
    GENES,
    KINDS,
    PATIENTS,
    STUDY,
    fisher_exact_p,
    kaplan_meier_median,
    log_rank_p,
    make_rows,
    make_study,
    write_study,
)


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_study(3, tmp_path / name)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    assert make_rows(3, "test", 20) == make_rows(3, "test", 20) != make_rows(4, "test", 20)


def test_the_files_are_those_of_cbioportal_and_can_be_laid_out(tmp_path: Path) -> None:
    write_study(0, tmp_path / STUDY)
    assert (tmp_path / STUDY / "data_clinical_patient.txt").read_text().startswith("#Patient id\tAge")
    names = lay_out(Study(STUDY, tmp_path / STUDY), tmp_path / "out")
    assert names == ["data_clinical_patient.csv", "data_clinical_sample.csv", "data_cna.csv", "data_mutations.csv"]
    patients = pd.read_csv(tmp_path / "out" / "data_clinical_patient.csv")
    samples = pd.read_csv(tmp_path / "out" / "data_clinical_sample.csv")
    assert len(patients) == PATIENTS and set(samples["PATIENT_ID"]) == set(patients["PATIENT_ID"])
    assert 0 < patients["OS_MONTHS"].isna().sum() < 20
    assert pd.read_csv(tmp_path / "out" / "data_cna.csv").shape == (len(GENES), 1 + len(samples))


def test_every_kind_of_question_reads_variables_and_asserts() -> None:
    rows = make_rows(0, "test", 2 * len(KINDS))
    assert len(KINDS) >= 8 and len({row["queries"] for row in rows}) >= len(KINDS) + 4
    for row in rows:
        cases = TestCases.read(row["test_cases"], (row["code_histories"], row["reference_answer"]))
        assert sum(cases.assertions) >= 2 and cases.variables
        assert all(f"`{name}`" in row["queries"] for name in cases.variables), row["queries"]
        assert json.loads(row["tables"])


def test_the_modes_ask_about_other_stages_and_genes() -> None:
    train, test = ({row["queries"] for row in make_rows(0, mode, 10)} for mode in ("train", "test"))
    assert len(test - train) >= 4


SURVIVAL = [(5.0, True), (6.0, False), (6.0, True), (8.0, True), (10.0, False), (12.0, True)]


def test_the_median_survival_is_that_of_the_product_limit_estimate() -> None:
    assert kaplan_meier_median(SURVIVAL) == 8.0  # 5/6 * 4/5 * 2/3 = 4/9
    assert kaplan_meier_median([(1.0, False), (2.0, True), (3.0, False)]) == 2.0
    assert math.isinf(kaplan_meier_median([(1.0, False), (2.0, False)]))


def test_p_values_are_those_of_scipy() -> None:
    study = make_study(0)
    mutated = study.patients_with("TP53")
    first, second = ([row for row in study.patients if (row["PATIENT_ID"] in mutated) is there] for there in (True, False))
    groups = [study.survival(rows) for rows in (first, second)]
    censored = [
        stats.CensoredData(uncensored=[months for months, died in group if died], right=[months for months, died in group if not died])
        for group in groups
    ]
    assert log_rank_p(*groups) == pytest.approx(stats.logrank(*censored).pvalue, rel=1e-9)
    for table in ([[8, 2], [1, 5]], [[0, 10], [12, 3]], [[3, 3], [3, 3]]):
        flat = (*table[0], *table[1])
        assert fisher_exact_p(*flat) == pytest.approx(stats.fisher_exact(table)[1], rel=1e-9)
