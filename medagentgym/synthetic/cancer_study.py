"""A made-up cancer study in the form of cBioPortal's files, and questions about it in the form of BioDSBench's task file.

Patients, survival and mutations are invented. What the assertions expect is computed here by plain means, not with the libraries that a solution
would use. The same seed gives the same bytes.
"""

from __future__ import annotations

import json
import math
import statistics
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from medagentgym.synthetic.chance import python_random
from medagentgym.synthetic.positions import Mode

STUDY = "made_up_carcinoma"
PATIENTS = 120
GENES = ("TP53", "KRAS", "PIK3CA", "ARID1A", "SMAD4", "CDKN2A", "ERBB2", "MYC")
_SHARES = (0.45, 0.32, 0.2, 0.16, 0.12, 0.18, 0.1, 0.08)
_CLASSES = ("Missense_Mutation", "Nonsense_Mutation", "Frame_Shift_Del", "Splice_Site", "Silent")
_STAGES = ("I", "II", "III", "IV")

_HEADERS = {
    "data_clinical_patient": ("PATIENT_ID", "AGE", "SEX", "STAGE", "TREATMENT", "OS_MONTHS", "OS_STATUS"),
    "data_clinical_sample": ("SAMPLE_ID", "PATIENT_ID", "SAMPLE_TYPE", "TMB_NONSYNONYMOUS"),
    "data_mutations": ("Hugo_Symbol", "Variant_Classification", "Tumor_Sample_Barcode", "t_ref_count", "t_alt_count"),
}


@dataclass(frozen=True)
class MadeUpStudy:
    """The rows of the tables, by name; `data_cna` has a column a sample."""

    tables: Mapping[str, list[dict[str, Any]]]

    @property
    def patients(self) -> list[dict[str, Any]]:
        """Rows of the clinical data of patients."""
        return self.tables["data_clinical_patient"]

    @property
    def samples(self) -> list[dict[str, Any]]:
        """Rows of the clinical data of samples."""
        return self.tables["data_clinical_sample"]

    @property
    def mutations(self) -> list[dict[str, Any]]:
        """Rows of the mutations."""
        return self.tables["data_mutations"]

    def patients_with(self, gene: str) -> set[str]:
        """The patients of whom a sample has a mutation of a gene that is not silent."""
        patient_of = {sample["SAMPLE_ID"]: sample["PATIENT_ID"] for sample in self.samples}
        found = [row for row in self.mutations if row["Hugo_Symbol"] == gene and row["Variant_Classification"] != "Silent"]
        return {patient_of[row["Tumor_Sample_Barcode"]] for row in found}

    def survival(self, patients: Sequence[Mapping[str, Any]]) -> list[tuple[float, bool]]:
        """Months and whether the patient died, of those with a known time."""
        return [(row["OS_MONTHS"], row["OS_STATUS"] == "1:DECEASED") for row in patients if row["OS_MONTHS"] != ""]


@lru_cache(maxsize=4)
def make_study(seed: int) -> MadeUpStudy:
    """The study of a seed."""
    chance = python_random(seed, "cancer_study")
    patients, samples, mutations = [], [], []
    cna: dict[str, dict[str, Any]] = {gene: {"Hugo_Symbol": gene} for gene in GENES}
    for number in range(1, PATIENTS + 1):
        patient = f"P{number:04d}"
        stage = chance.choices(_STAGES, (3, 3, 2, 1))[0]
        treatment = chance.choice(("A", "B"))
        months = round(chance.expovariate(1 / (70 - 12 * _STAGES.index(stage) + 8 * (treatment == "B"))), 2)
        observed = chance.random() < 0.7
        row = {"PATIENT_ID": patient, "AGE": chance.randint(34, 86), "SEX": chance.choice(("Female", "Male")), "STAGE": stage, "TREATMENT": treatment}
        known = chance.random() > 0.05
        status = "1:DECEASED" if observed else "0:LIVING"
        patients.append({**row, "OS_MONTHS": months if known else "", "OS_STATUS": status if known else ""})
        for kind in ("Primary", "Metastasis")[: 1 + (chance.random() < 0.2)]:
            sample = f"{patient}-{kind[0]}"
            tmb = round(chance.lognormvariate(1.2, 0.8), 3)
            samples.append({"SAMPLE_ID": sample, "PATIENT_ID": patient, "SAMPLE_TYPE": kind, "TMB_NONSYNONYMOUS": tmb})
            for gene, share in zip(GENES, _SHARES, strict=True):
                for _ in range(1 + (chance.random() < 0.15)):
                    if chance.random() < share:
                        depth = chance.randint(30, 400)
                        mutated = max(3, int(depth * chance.betavariate(3, 6)))
                        values = (gene, chance.choices(_CLASSES, (8, 2, 2, 1, 2))[0], sample, depth - mutated, mutated)
                        mutations.append(dict(zip(_HEADERS["data_mutations"], values, strict=True)))
                cna[gene][sample] = chance.choices((-2, -1, 0, 1, 2), (1, 3, 10, 3, 2))[0]
    tables = {"data_clinical_patient": patients, "data_clinical_sample": samples, "data_mutations": mutations, "data_cna": list(cna.values())}
    return MadeUpStudy(tables)


def write_study(seed: int, folder: Path) -> None:
    """Write the study as cBioPortal gives studies out: tables separated by tabs, descriptions above the headers of the clinical ones."""
    folder.mkdir(parents=True)
    (folder / "meta_study.txt").write_text(f"cancer_study_identifier: {STUDY}\nname: Made-up carcinoma\ndescription: Invented patients.\n")
    for name, rows in make_study(seed).tables.items():
        header = list(rows[0])
        lines = ["\t".join(header), *("\t".join(str(row[column]) for column in header) for row in rows)]
        if "clinical" in name:
            described = [column.replace("_", " ").capitalize() for column in header]
            kinds = ["NUMBER" if isinstance(rows[0][column], (int, float)) else "STRING" for column in header]
            lines[:0] = ["#" + "\t".join(cells) for cells in (described, described, kinds, ["1"] * len(header))]
        elif name == "data_mutations":
            lines[:0] = ["#version 2.4"]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")


# --- computing by plain means ---------------------------------------------------------------------------------------------------------------------


def kaplan_meier_median(survival: Sequence[tuple[float, bool]]) -> float:
    """The first time at which the product-limit estimate (Kaplan and Meier, 1958) is at most a half; infinity where it stays above."""
    share, at_risk = 1.0, len(survival)
    for months in sorted({months for months, _ in survival}):
        deaths = sum(died for time, died in survival if time == months)
        share *= 1 - deaths / at_risk
        if share <= 0.5:
            return months
        at_risk -= sum(time == months for time, _ in survival)
    return math.inf


def log_rank_p(first: Sequence[tuple[float, bool]], second: Sequence[tuple[float, bool]]) -> float:
    """The p-value of the log-rank test of two groups (Mantel, 1966), one degree of freedom."""
    excess = variance = 0.0
    for months in sorted({months for months, died in [*first, *second] if died}):
        n_first = sum(time >= months for time, _ in first)
        n = n_first + sum(time >= months for time, _ in second)
        deaths = sum(died for time, died in [*first, *second] if time == months)
        excess += sum(died for time, died in first if time == months) - deaths * n_first / n
        if n > 1:
            variance += deaths * (n_first / n) * (1 - n_first / n) * (n - deaths) / (n - 1)
    return math.erfc(math.sqrt(excess**2 / variance / 2))


def fisher_exact_p(both: int, only_first: int, only_second: int, neither: int) -> float:
    """The two-sided p-value of Fisher's exact test: the probability of all tables that are no likelier than the one at hand."""
    row, column, total = both + only_first, both + only_second, both + only_first + only_second + neither

    def probability(count: int) -> float:
        return math.comb(column, count) * math.comb(total - column, row - count) / math.comb(total, row)

    possible = range(max(0, row + column - total), min(row, column) + 1)
    return sum(probability(count) for count in possible if probability(count) <= probability(both) * (1 + 1e-7))


# --- questions --------------------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StudyQuestion:
    """A question about the study, as a row of the task file has it."""

    query: str
    solution: str
    test_cases: str
    history: str = ""
    analysis: str = "Descriptive Statistics"


_READ = 'import pandas as pd\n\n{name} = pd.read_csv("/workdir/{table}.csv")\n'
_PATIENT = _READ.format(name="patients", table="data_clinical_patient")
_SAMPLE = _READ.format(name="samples", table="data_clinical_sample")
_MUTATION = _READ.format(name="mutations", table="data_mutations")
_CNA = _READ.format(name="cna", table="data_cna")


def _text(text: str, **values: object) -> str:
    filled = textwrap.dedent(text).strip()
    for name, value in values.items():
        filled = filled.replace(f"<{name}>", str(value))
    return filled + "\n"


def _baseline(study: MadeUpStudy, stage: str, _: str) -> StudyQuestion:
    rows = [row for row in study.patients if row["STAGE"] == stage]
    sexes = Counter(row["SEX"] for row in rows)
    return StudyQuestion(
        f"For the patients of stage {stage}, give their number as `n_patients`, their median age as `median_age` and the number of patients of each "
        "sex as the pandas Series `sex_counts`, indexed by sex.",
        _text(
            _PATIENT + 'chosen = patients[patients["STAGE"] == "<stage>"]\nn_patients = len(chosen)\n'
            'median_age = chosen["AGE"].median()\nsex_counts = chosen["SEX"].value_counts()',
            stage=stage,
        ),
        _text(
            """
        assert n_patients == <n>
        assert abs(median_age - <median>) < 1e-9
        assert sex_counts.to_dict() == <sexes>
        """,
            n=len(rows),
            median=statistics.median(row["AGE"] for row in rows),
            sexes=json.dumps(dict(sorted(sexes.items()))),
        ),
    )


def _gene_counts(study: MadeUpStudy, _: str, __: str) -> StudyQuestion:
    counts = sorted(((len(study.patients_with(gene)), gene) for gene in GENES), key=lambda item: (-item[0], item[1]))
    expected = [[gene, count, round(100 * count / PATIENTS, 2)] for count, gene in counts[:5]]
    return StudyQuestion(
        "Which five genes are mutated in most patients? Silent mutations do not count, and a patient counts once for a gene, whatever the number of "
        "mutations and samples. Give the data frame `gene_counts` with the columns `Gene`, `Patients` and `Share (%)` (of all patients, rounded to "
        "two decimals), the most frequent first; genes of the same number in alphabetical order.",
        _text(
            _MUTATION
            + _SAMPLE
            + _PATIENT
            + """
loud = mutations[mutations["Variant_Classification"] != "Silent"].merge(samples, left_on="Tumor_Sample_Barcode", right_on="SAMPLE_ID")
counts = loud.groupby("Hugo_Symbol")["PATIENT_ID"].nunique().rename("Patients").reset_index().rename(columns={"Hugo_Symbol": "Gene"})
counts["Share (%)"] = (100 * counts["Patients"] / len(patients)).round(2)
gene_counts = counts.sort_values(["Patients", "Gene"], ascending=[False, True]).head(5).reset_index(drop=True)"""
        ),
        _text(
            """
        assert gene_counts.columns.tolist() == ["Gene", "Patients", "Share (%)"]
        assert gene_counts.shape == (5, 3)
        assert gene_counts["Gene"].tolist() == <genes>
        assert gene_counts["Patients"].tolist() == <counts>
        assert all(abs(share - expected) < 0.006 for share, expected in zip(gene_counts["Share (%)"], <shares>))
        """,
            genes=[row[0] for row in expected],
            counts=[row[1] for row in expected],
            shares=[row[2] for row in expected],
        ),
        analysis="Genomic Alteration Profiling",
    )


def _median_survival(study: MadeUpStudy, stage: str, _: str) -> StudyQuestion:
    survival = study.survival([row for row in study.patients if row["STAGE"] == stage])
    return StudyQuestion(
        f"Fit a Kaplan-Meier curve of the overall survival of the patients of stage {stage} with `lifelines`, and leave the fitter as `kmf` and the "
        "median survival in months as `median_survival`. Leave patients without a survival time out.",
        _text(
            _PATIENT
            + """
from lifelines import KaplanMeierFitter

chosen = patients[patients["STAGE"] == "<stage>"].dropna(subset=["OS_MONTHS"])
kmf = KaplanMeierFitter()
kmf.fit(chosen["OS_MONTHS"], chosen["OS_STATUS"] == "1:DECEASED")
median_survival = kmf.median_survival_time_""",
            stage=stage,
        ),
        _text(
            """
        import lifelines
        assert isinstance(kmf, lifelines.KaplanMeierFitter)
        assert len(kmf.durations) == <n>
        assert kmf.event_observed.sum() == <deaths>
        assert abs(kmf.durations.sum() - <months>) < 1e-6
        assert abs(kmf.median_survival_time_ - <median>) < 1e-6
        assert abs(median_survival - <median>) < 1e-6
        """,
            n=len(survival),
            deaths=sum(died for _, died in survival),
            months=repr(math.fsum(months for months, _ in survival)),
            median=kaplan_meier_median(survival),
        ),
        analysis="Survival Outcome Analysis",
    )


def _log_rank(study: MadeUpStudy, _: str, gene: str) -> StudyQuestion:
    mutated = study.patients_with(gene)
    groups = [[row for row in study.patients if (row["PATIENT_ID"] in mutated) is with_mutation] for with_mutation in (True, False)]
    first, second = (study.survival(rows) for rows in groups)
    return StudyQuestion(
        f"Do patients with a {gene} mutation (any that is not silent, in any of their samples) survive as long as the others? Give the p-value of "
        "the log-rank test as `p_value`, and the number of patients with a known survival time in both groups as the tuple "
        "`group_sizes`: with, without.",
        _text(
            _MUTATION
            + _SAMPLE
            + _PATIENT
            + """
from lifelines.statistics import logrank_test

found = mutations[(mutations["Hugo_Symbol"] == "<gene>") & (mutations["Variant_Classification"] != "Silent")]
mutated = set(samples.loc[samples["SAMPLE_ID"].isin(found["Tumor_Sample_Barcode"]), "PATIENT_ID"])
known = patients.dropna(subset=["OS_MONTHS"])
group = known["PATIENT_ID"].isin(mutated)
died = known["OS_STATUS"] == "1:DECEASED"
result = logrank_test(known.loc[group, "OS_MONTHS"], known.loc[~group, "OS_MONTHS"], died[group], died[~group])
p_value = result.p_value
group_sizes = (int(group.sum()), int((~group).sum()))""",
            gene=gene,
        ),
        _text(
            """
        assert isinstance(p_value, float)
        assert abs(p_value - <p>) < 1e-8
        assert tuple(group_sizes) == <sizes>
        """,
            p=log_rank_p(first, second),
            sizes=(len(first), len(second)),
        ),
        analysis="Survival Outcome Analysis",
    )


def _copy_numbers(study: MadeUpStudy, _: str, __: str) -> StudyQuestion:
    primary = {sample["SAMPLE_ID"] for sample in study.samples if sample["SAMPLE_TYPE"] == "Primary"}
    rows = {row["Hugo_Symbol"]: [value for sample, value in row.items() if sample in primary] for row in study.tables["data_cna"]}
    expected = {gene: [values.count(2), values.count(-2)] for gene, values in rows.items()}
    return StudyQuestion(
        "In how many primary samples is each gene amplified (2) or deeply deleted (-2)? Give the data frame `alterations`, indexed by gene in "
        "alphabetical order, with the columns `Amplified` and `Deleted`.",
        _text(
            _CNA
            + _SAMPLE
            + """
primary = samples.loc[samples["SAMPLE_TYPE"] == "Primary", "SAMPLE_ID"]
values = cna.set_index("Hugo_Symbol")[primary]
alterations = pd.DataFrame({"Amplified": (values == 2).sum(axis=1), "Deleted": (values == -2).sum(axis=1)}).sort_index()"""
        ),
        _text(
            """
        assert alterations.index.tolist() == <genes>
        assert alterations["Amplified"].tolist() == <amplified>
        assert alterations["Deleted"].tolist() == <deleted>
        """,
            genes=sorted(expected),
            amplified=[expected[gene][0] for gene in sorted(expected)],
            deleted=[expected[gene][1] for gene in sorted(expected)],
        ),
        analysis="Genomic Alteration Profiling",
    )


def _co_occurrence(study: MadeUpStudy, _: str, gene: str) -> StudyQuestion:
    other = GENES[(GENES.index(gene) + 1) % len(GENES)]
    first, second = study.patients_with(gene), study.patients_with(other)
    both, total = len(first & second), len(study.patients)
    table = [[both, len(first - second)], [len(second - first), total - len(first | second)]]
    return StudyQuestion(
        f"Do mutations of {gene} and {other} occur together? For all patients (a mutation in any sample counts, silent ones do not), give the two by "
        f"two table as the NumPy array `table` (rows: {gene} mutated, not mutated; columns: {other} mutated, not mutated) and the two-sided p-value "
        "of Fisher's exact test as `p_value`.",
        _text(
            _MUTATION
            + _SAMPLE
            + _PATIENT
            + """
import numpy as np
from scipy.stats import fisher_exact

loud = mutations[mutations["Variant_Classification"] != "Silent"].merge(samples, left_on="Tumor_Sample_Barcode", right_on="SAMPLE_ID")
first = set(loud.loc[loud["Hugo_Symbol"] == "<gene>", "PATIENT_ID"])
second = set(loud.loc[loud["Hugo_Symbol"] == "<other>", "PATIENT_ID"])
everyone = set(patients["PATIENT_ID"])
table = np.array([[len(first & second), len(first - second)], [len(second - first), len(everyone - first - second)]])
p_value = fisher_exact(table)[1]""",
            gene=gene,
            other=other,
        ),
        _text(
            """
        import numpy as np
        assert np.array_equal(table, <table>)
        assert abs(p_value - <p>) < 1e-8
        """,
            table=table,
            p=fisher_exact_p(both, table[0][1], table[1][0], table[1][1]),
        ),
        analysis="Genomic Alteration Profiling",
    )


def _joined(study: MadeUpStudy, _: str, __: str) -> StudyQuestion:
    stage_of = {row["PATIENT_ID"]: row["STAGE"] for row in study.patients}
    by_stage = {stage: [row["TMB_NONSYNONYMOUS"] for row in study.samples if stage_of[row["PATIENT_ID"]] == stage] for stage in _STAGES}
    expected = {stage: round(statistics.median(values), 6) for stage, values in by_stage.items()}
    return StudyQuestion(
        "Join the samples with their patients. Give the joined data frame as `joined` (one row a sample, with the columns of both tables) and the "
        "median of `TMB_NONSYNONYMOUS` of the samples in each stage as the dictionary `tmb_by_stage`.",
        _text(
            _PATIENT + _SAMPLE + 'joined = samples.merge(patients, on="PATIENT_ID")\n'
            'tmb_by_stage = joined.groupby("STAGE")["TMB_NONSYNONYMOUS"].median().to_dict()'
        ),
        _text(
            """
        assert joined.shape == <shape>
        assert set(joined.columns) == set(<columns>)
        assert joined["SAMPLE_ID"].nunique() == <n>
        assert set(tmb_by_stage) == set(<stages>)
        assert all(abs(tmb_by_stage[stage] - value) < 1e-5 for stage, value in <expected>.items())
        """,
            shape=(len(study.samples), len({*study.samples[0], *study.patients[0]})),
            n=len(study.samples),
            columns=sorted({*study.samples[0], *study.patients[0]}),
            stages=list(_STAGES),
            expected=expected,
        ),
        analysis="Data Integration & Transformation",
    )


def _plotted(study: MadeUpStudy, _: str, __: str) -> StudyQuestion:
    counts = {stage: sum(row["STAGE"] == stage for row in study.patients) for stage in _STAGES}
    return StudyQuestion(
        "Draw the number of patients in each stage as bars with matplotlib, from stage I to stage IV. Leave the axes as `ax` and the bars (what "
        "`ax.bar` gives) as `bars`; label the axes `Stage` and `Patients`, and save the figure as `stages.png` in the current folder.",
        _text(
            _PATIENT
            + """
import matplotlib.pyplot as plt

counts = patients["STAGE"].value_counts().reindex(["I", "II", "III", "IV"], fill_value=0)
fig, ax = plt.subplots()
bars = ax.bar(counts.index, counts.values)
ax.set_xlabel("Stage")
ax.set_ylabel("Patients")
fig.savefig("stages.png")"""
        ),
        _text(
            """
        import matplotlib.image
        assert len(bars) == 4
        assert [bar.get_height() for bar in bars] == <heights>
        assert [label.get_text() for label in ax.get_xticklabels()] == <stages>
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("Stage", "Patients")
        assert matplotlib.image.imread("stages.png").std() > 0.01
        """,
            heights=list(counts.values()),
            stages=list(_STAGES),
        ),
        analysis="Data Visualization",
    )


def _indicators(study: MadeUpStudy, _: str, __: str) -> StudyQuestion:
    expected = {gene: len(study.patients_with(gene)) for gene in GENES}
    anyone = len(set().union(*(study.patients_with(gene) for gene in GENES)))
    return StudyQuestion(
        "Using `loud`, make the data frame `indicators` with one row a patient who has any mutation in it (index: `PATIENT_ID`) and one column a "
        "gene, which is 1 where the patient has a mutation of that gene and 0 where not.",
        _text('indicators = (pd.crosstab(loud["PATIENT_ID"], loud["Hugo_Symbol"]) > 0).astype(int)'),
        _text(
            """
        assert indicators.shape == (<anyone>, <genes>)
        assert indicators.sum().to_dict() == <expected>
        assert set(indicators.to_numpy().ravel().tolist()) == {0, 1}
        assert indicators.index.is_unique
        """,
            anyone=anyone,
            genes=len(GENES),
            expected=dict(sorted(expected.items())),
        ),
        history=_text(
            _MUTATION + _SAMPLE + 'loud = mutations[mutations["Variant_Classification"] != "Silent"]\n'
            'loud = loud.merge(samples, left_on="Tumor_Sample_Barcode", right_on="SAMPLE_ID")'
        ),
        analysis="Genomic Alteration Profiling",
    )


def _allele_fractions(study: MadeUpStudy, _: str, gene: str) -> StudyQuestion:
    rows = [row for row in study.mutations if row["Hugo_Symbol"] == gene]
    fractions = [row["t_alt_count"] / (row["t_alt_count"] + row["t_ref_count"]) for row in rows]
    return StudyQuestion(
        f"Give the variant allele fractions (reads with the mutation over all reads) of all {gene} mutations as the list `fractions`, in the order "
        "of the table, and their median as `median_fraction`.",
        _text(
            _MUTATION
            + """
chosen = mutations[mutations["Hugo_Symbol"] == "<gene>"]
values = chosen["t_alt_count"] / (chosen["t_alt_count"] + chosen["t_ref_count"])
fractions = values.tolist()
median_fraction = values.median()""",
            gene=gene,
        ),
        _text(
            """
        assert len(fractions) == <n>
        assert abs(sum(fractions) - <sum>) < 1e-6
        assert abs(fractions[0] - <first>) < 1e-9
        assert abs(median_fraction - <median>) < 1e-9
        """,
            n=len(fractions),
            sum=math.fsum(fractions),
            first=fractions[0],
            median=statistics.median(fractions),
        ),
        analysis="Genomic Alteration Profiling",
    )


KINDS: tuple[Callable[[MadeUpStudy, str, str], StudyQuestion], ...] = (
    _baseline,
    _gene_counts,
    _median_survival,
    _log_rank,
    _copy_numbers,
    _co_occurrence,
    _joined,
    _plotted,
    _indicators,
    _allele_fractions,
)
"""The kinds of questions, in the order in which they are asked; each is given the study, a stage and a gene."""


def make_rows(seed: int, mode: Mode, count: int) -> list[dict[str, Any]]:
    """`count` rows with the columns of BioDSBench's task file. Kinds come in turn; those of the two modes begin with other stages and genes."""
    study = make_study(seed)
    rows = []
    for position in range(count):
        turn = position // len(KINDS) + (2 if mode == "train" else 0)
        question = KINDS[position % len(KINDS)](study, _STAGES[turn % len(_STAGES)], GENES[turn % len(GENES)])
        rows.append(
            {
                "study_ids": STUDY,
                "question_ids": f"{mode}_{position}",
                "analysis_types": [question.analysis],
                "queries": question.query,
                "cot_instructions": "",
                "code_histories": question.history,
                "reference_answer": question.solution,
                "test_cases": question.test_cases,
                "tables": json.dumps([f"/workdir/{name}.csv" for name in study.tables]),
            }
        )
    return rows
