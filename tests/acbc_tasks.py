"""Tasks of our own about a real study, cBioPortal's acbc_mskcc_2015 (adenoid cystic carcinoma of the breast, 12 patients), in BioDSBench's form.

What the assertions expect is computed here from the files by plain means, not with the libraries of the solutions.
"""

from __future__ import annotations

import csv
import math
import statistics
import textwrap
from collections import Counter
from pathlib import Path

from medagentgym.synthetic.cancer_study import fisher_exact_p, kaplan_meier_median, log_rank_p

STUDY = "acbc_mskcc_2015"
SILENT = ("Silent", "Intron", "RNA", "Targeted_Region")
PARTS = {
    "read": """import pandas as pd
patients = pd.read_csv("/workdir/data_clinical_patient.csv")
samples = pd.read_csv("/workdir/data_clinical_sample.csv")
mutations = pd.read_csv("/workdir/data_mutations.csv")
cna = pd.read_csv("/workdir/data_cna.csv")""",
    "events": """patients["event"] = (patients["LOCAL_REGIONAL_RECURRENCE"] == "Positive") | patients["TIME_TO_MET_MONTHS"].notna()""",
    "loud": f"""loud = mutations[~mutations["Variant_Classification"].isin({SILENT!r})]""",
}


def filled(template: str, **values: object) -> str:
    """A program with the parts and values that it names."""
    text = textwrap.dedent(template).strip() + "\n"
    for name, value in {**PARTS, **values}.items():
        text = text.replace(f"<{name}>", str(value))
    return text


def product_limit(survival: list[tuple[float, bool]], until: float) -> float:
    """The share without an event at a time."""
    share = 1.0
    for time in sorted({time for time, event in survival if event and time <= until}):
        at_risk = sum(other >= time for other, _ in survival)
        share *= 1 - sum(event for other, event in survival if other == time) / at_risk
    return share


def make_tasks(folder: Path) -> list[dict[str, str]]:
    """The rows of the task file. `folder` holds the study's tables."""

    def rows(name: str) -> list[dict[str, str]]:
        with (folder / f"{name}.csv").open(newline="") as stream:
            return list(csv.DictReader(stream))

    patients, samples, mutations, cna = (rows(f"data_{name}") for name in ("clinical_patient", "clinical_sample", "mutations", "cna"))
    ids = [row["PATIENT_ID"] for row in patients]
    event = {row["PATIENT_ID"]: row["LOCAL_REGIONAL_RECURRENCE"] == "Positive" or row["TIME_TO_MET_MONTHS"] != "" for row in patients}
    years = {row["PATIENT_ID"]: float(row["FOLLOWUP_YEARS"]) for row in patients}
    ages = {row["PATIENT_ID"]: float(row["AGE"]) for row in patients}
    stage = {row["PATIENT_ID"]: row["TUMOR_STAGE"] for row in samples}
    histology = Counter(row["OVERALL_PATIENT_HISTOLOGY"] for row in patients)
    survival = [(years[one], event[one]) for one in ids]
    by_stage = {name: [(years[one], event[one]) for one in ids if stage[one] == name] for name in ("I", "II")}
    classes = Counter(row["Variant_Classification"] for row in mutations)
    loud = Counter(row["Tumor_Sample_Barcode"] for row in mutations if row["Variant_Classification"] not in SILENT)
    numbers = {one: [float(row[one]) for row in cna] for one in ids}
    amplified = {one: sum(value == 2 for value in numbers[one]) for one in ids}
    deleted = {one: sum(value == -2 for value in numbers[one]) for one in ids}
    of_gene = {row["Hugo_Symbol"]: {one for one in ids if float(row[one]) != 0} for row in cna}
    first, second = of_gene["MARCH9"], of_gene["AATF"]
    table = [[len(first & second), len(first - second)], [len(second - first), len(ids) - len(first | second)]]
    mean_age, mean_loud = statistics.fmean(ages.values()), statistics.fmean(loud[one] for one in ids)
    slope = sum((ages[one] - mean_age) * (loud[one] - mean_loud) for one in ids) / sum((ages[one] - mean_age) ** 2 for one in ids)
    fused = {row["Sample_Id"] for row in rows("data_sv")}

    def task(query: str, solution: str, test_cases: str, history: str = "") -> dict[str, str]:
        return {"queries": query, "reference_answer": solution, "test_cases": test_cases, "code_histories": history, "study_ids": STUDY}

    every_count = {one: loud[one] for one in ids}
    return [
        task(
            "Number of patients `n_patients`, median age `median_age`, patients of each histology as the Series `histology_counts`.",
            filled("""
            <read>
            n_patients = len(patients)
            median_age = patients["AGE"].median()
            histology_counts = patients["OVERALL_PATIENT_HISTOLOGY"].value_counts()
            """),
            filled(
                """
                assert n_patients == <n>
                assert median_age == <median>
                assert histology_counts.to_dict() == <counts>
                """,
                n=len(ids),
                median=statistics.median(ages.values()),
                counts=dict(histology),
            ),
        ),
        task(
            "Fit a Kaplan-Meier curve of the years to recurrence or metastasis (`kmf`); leave the share without an event at ten years as `at_ten`.",
            filled("""
            <read>
            <events>
            from lifelines import KaplanMeierFitter
            kmf = KaplanMeierFitter().fit(patients["FOLLOWUP_YEARS"], patients["event"])
            at_ten = float(kmf.predict(10))
            """),
            filled(
                """
                import lifelines
                assert isinstance(kmf, lifelines.KaplanMeierFitter)
                assert kmf.durations.sum() == <years>
                assert kmf.event_observed.sum() == <events>
                assert abs(kmf.predict(10) - <share>) < 1e-9
                assert kmf.median_survival_time_ == float("<median>")
                assert abs(at_ten - <share>) < 1e-9
                """,
                years=math.fsum(years.values()),
                events=sum(event.values()),
                share=product_limit(survival, 10),
                median=kaplan_meier_median(survival),
            ),
        ),
        task(
            "Compare the years to recurrence or metastasis of stage I and stage II with the log-rank test; leave the p-value as `p_value`.",
            filled("""
            <read>
            <events>
            from lifelines.statistics import logrank_test
            joined = patients.merge(samples, on="PATIENT_ID")
            first, second = (joined[joined["TUMOR_STAGE"] == stage] for stage in ("I", "II"))
            p_value = logrank_test(first["FOLLOWUP_YEARS"], second["FOLLOWUP_YEARS"], first["event"], second["event"]).p_value
            """),
            filled("assert isinstance(p_value, float)\nassert abs(p_value - <p>) < 1e-8", p=log_rank_p(by_stage["I"], by_stage["II"])),
        ),
        task(
            "Count the mutations of each class: the data frame `classes` with the columns `Class` and `Count`, the most frequent first.",
            filled("""
            <read>
            classes = mutations["Variant_Classification"].value_counts().rename_axis("Class").reset_index(name="Count")
            """),
            filled(
                """
                assert classes.columns.tolist() == ["Class", "Count"]
                assert dict(zip(classes["Class"], classes["Count"])) == <counts>
                assert classes["Count"].is_monotonic_decreasing and len(classes) == <n>
                """,
                counts=dict(classes),
                n=len(classes),
            ),
        ),
        task(
            "Do copy number changes of MARCH9 and AATF occur together? The two by two table as the array `table`, Fisher's p-value as `p_value`.",
            filled("""
            <read>
            import numpy as np
            from scipy.stats import fisher_exact
            changed = cna.set_index("Hugo_Symbol").loc[["MARCH9", "AATF"], samples["SAMPLE_ID"]] != 0
            first, second = changed.loc["MARCH9"], changed.loc["AATF"]
            table = np.array([[(first & second).sum(), (first & ~second).sum()], [(~first & second).sum(), (~first & ~second).sum()]])
            p_value = fisher_exact(table)[1]
            """),
            filled(
                """
                import numpy as np
                assert np.array_equal(table, <table>)
                assert abs(p_value - <p>) < 1e-8
                """,
                table=table,
                p=fisher_exact_p(*table[0], *table[1]),
            ),
        ),
        task(
            "How many genes are amplified (2) and deleted (-2) in each sample? The data frame `burden`, by sample: `Amplified`, `Deleted`.",
            filled("""
            <read>
            values = cna.set_index("Hugo_Symbol")[samples["SAMPLE_ID"]]
            burden = pd.DataFrame({"Amplified": (values == 2).sum(), "Deleted": (values == -2).sum()})
            """),
            filled(
                """
                assert burden.shape == (<n>, 2)
                assert burden["Amplified"].to_dict() == <amplified>
                assert burden["Deleted"].to_dict() == <deleted>
                """,
                n=len(ids),
                amplified=amplified,
                deleted=deleted,
            ),
        ),
        task(
            "Join every mutation in `loud` with its sample and patient as `joined`; count the mutations of each stage as the dictionary `by_stage`.",
            filled("""
            joined = loud.merge(samples, left_on="Tumor_Sample_Barcode", right_on="SAMPLE_ID").merge(patients, on="PATIENT_ID")
            by_stage = joined["TUMOR_STAGE"].value_counts().to_dict()
            """),
            filled(
                """
                assert len(joined) == <n>
                assert {"Hugo_Symbol", "TUMOR_STAGE", "AGE"} <= set(joined.columns)
                assert by_stage == <stages>
                assert joined.groupby("PATIENT_ID").size().to_dict() == <counts>
                """,
                n=sum(loud.values()),
                stages={name: sum(loud[one] for one in ids if stage[one] == name) for name in ("I", "II")},
                counts=every_count,
            ),
            filled("<read>\n<loud>"),
        ),
        task(
            "Draw the mutations in each sample as bars (`bars`, axes `ax`), most first, axes labelled `Sample` and `Mutations`; save `burden.png`.",
            filled("""
            <read>
            import matplotlib.pyplot as plt
            counts = mutations["Tumor_Sample_Barcode"].value_counts()
            fig, ax = plt.subplots()
            bars = ax.bar(counts.index, counts.values)
            ax.set_xlabel("Sample")
            ax.set_ylabel("Mutations")
            fig.savefig("burden.png")
            """),
            filled(
                """
                import matplotlib.image
                assert [bar.get_height() for bar in bars] == <heights>
                assert len(ax.patches) == <n>
                assert (ax.get_xlabel(), ax.get_ylabel()) == ("Sample", "Mutations")
                assert matplotlib.image.imread("burden.png").std() > 0.01
                """,
                heights=sorted(Counter(row["Tumor_Sample_Barcode"] for row in mutations).values(), reverse=True),
                n=len(ids),
            ),
        ),
        task(
            "Which samples have a fusion in the table of structural variants, and which not? Sorted lists `fused` and `not_fused` of sample ids.",
            filled("""
            <read>
            variants = pd.read_csv("/workdir/data_sv.csv")
            fused = sorted(variants["Sample_Id"].unique())
            not_fused = sorted(set(samples["SAMPLE_ID"]) - set(fused))
            """),
            filled("assert list(fused) == <fused>\nassert list(not_fused) == <not_fused>", fused=sorted(fused), not_fused=sorted(set(ids) - fused)),
        ),
        task(
            "Fit scikit-learn's LinearRegression of the number of mutations that are not silent (`counts`, by patient) on age; leave it as `model`.",
            filled("""
            <read>
            <loud>
            from sklearn.linear_model import LinearRegression
            counts = loud["Tumor_Sample_Barcode"].value_counts().reindex(patients["PATIENT_ID"])
            model = LinearRegression().fit(patients[["AGE"]].to_numpy(), counts)
            """),
            filled(
                """
                from sklearn.linear_model import LinearRegression
                assert isinstance(model, LinearRegression)
                assert abs(model.coef_[0] - <slope>) < 1e-8
                assert abs(model.intercept_ - <intercept>) < 1e-6
                assert counts.to_dict() == <counts>
                """,
                slope=slope,
                intercept=mean_loud - slope * mean_age,
                counts=every_count,
            ),
        ),
    ]
