"""The packages of every family's environment do their work in a box. Families whose environment is not built here are skipped."""

from __future__ import annotations

import dataclasses

import pytest

from medagentgym import environments
from medagentgym.sandbox import Backend, BoxSpec, Limits

PROGRAMS = {
    "ehr": """
import matplotlib.pyplot as plt
import numpy, pandas, pyarrow, rapidfuzz, scipy.stats
plt.plot([1, 2])
plt.savefig("figure.png")
pandas.DataFrame({"a": [1]}).to_parquet("table.parquet")
assert rapidfuzz.fuzz.ratio("aspirin", "aspirin") == 100
assert scipy.stats.ttest_ind([1, 2, 3], [1, 2, 3]).pvalue == 1
""",
    "bioinformatics": """
import Bio.Align, Bio.SeqIO, centrosome.cpmorphology, lifelines, matplotlib.pyplot as plt, networkx, numpy, pandas, plotly.graph_objects, pysam
import PyComplexHeatmap, ridgeplot, scipy.ndimage, seaborn, skimage.measure, sklearn.ensemble, statsmodels.api
from Bio.Seq import Seq
assert str(Seq("ATGGCC").translate()) == "MA"
open("sequence.fa", "w").write(">one\\nACGT\\n")
pysam.faidx("sequence.fa")
assert pysam.FastaFile("sequence.fa").fetch("one") == "ACGT"
with pysam.AlignmentFile("reads.bam", "wb", header={"HD": {"VN": "1.0"}, "SQ": [{"LN": 100, "SN": "one"}]}):
    pass
fitter = lifelines.CoxPHFitter().fit(lifelines.datasets.load_rossi(), "week", "arrest")
assert 0.6 < fitter.concordance_index_ < 0.7
values = numpy.random.rand(200, 5)
labels = values[:, 0] > 0.5
assert sklearn.ensemble.RandomForestClassifier(20, random_state=0, n_jobs=2).fit(values, labels).score(values, labels) == 1
assert statsmodels.api.OLS(values[:, 0], values[:, 1:]).fit().rsquared > 0
assert skimage.measure.label(numpy.eye(3, dtype=int)).max() == 1
table = pandas.DataFrame(values[:20], columns=list("abcde"))
seaborn.clustermap(table).savefig("clusters.png")
PyComplexHeatmap.ClusterMapPlotter(data=table, row_cluster=False, col_cluster=False, plot=True)
plt.savefig("heat.png")
ridgeplot.ridgeplot(samples=[[values[:, 0]], [values[:, 1]]]).write_html("ridges.html")
assert networkx.karate_club_graph().number_of_nodes() == 34
""",
    "machine_learning": """
import lightgbm, numpy, pandas, seaborn, statsmodels.api, xgboost
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
values = numpy.random.rand(300, 4)
labels = (values[:, 0] + values[:, 1] > 1).astype(int)
for model in (
    lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=2),
    xgboost.XGBClassifier(n_estimators=20, n_jobs=2),
    make_pipeline(StandardScaler(), LogisticRegression()),
):
    assert model.fit(pandas.DataFrame(values), labels).score(pandas.DataFrame(values), labels) > 0.9
assert GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, n_jobs=2).fit(values, labels).best_score_ > 0.8
""",
    "statistics": """
import lifelines, numpy, statsmodels.stats.power
assert 60 < statsmodels.stats.power.TTestIndPower().solve_power(0.5, power=0.8, alpha=0.05) < 65
assert lifelines.KaplanMeierFitter().fit([1, 2, 3], [1, 1, 1]).median_survival_time_ == 2
""",
}


def test_every_family_has_a_program_here() -> None:
    assert sorted(PROGRAMS) == environments.families()


@pytest.mark.slow
@pytest.mark.parametrize("family", PROGRAMS)
@pytest.mark.parametrize("backend", ["bubblewrap", "landlock"], indirect=True)
def test_the_packages_of_a_family_work_in_a_box(backend: Backend, family: str) -> None:
    if not environments.is_built(family):
        pytest.skip(f"not built here: medagentgym environments build {family}")
    limits = dataclasses.replace(Limits(), wall_seconds=300, cpu_seconds=300)
    box = backend.start(BoxSpec(python=environments.environment_folder(family) / "bin" / "python", limits=limits, preload=("numpy", "pandas")))
    try:
        result = box.run(PROGRAMS[family])
        assert result.exit_status == 0, result.stderr
        assert result.limits_hit == ()
        assert box.shell("python -m pip check").stdout == "No broken requirements found.\n"
    finally:
        box.close()
