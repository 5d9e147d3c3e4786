# Evaluate LLM agents on biomedical data:  snakemake --cores 8 --configfile config/mimic.yaml
#
# Every episode is a file, and every file is a target: what exists is not run again. What happens inside a rule is a function of the package
# `medagentgym`; the rules say only what depends on what.
from snakemake.utils import min_version

min_version("9.27")


include: "rules/common.smk"
include: "rules/data.smk"
include: "rules/episodes.smk"
include: "rules/scores.smk"
include: "rules/summary.smk"
include: "rules/audit.smk"


rule all:
    default_target: True
    input:
        PLAN.episodes,
        rules.summary.output,


rule data:
    input:
        PLAN.data,


rule episodes:
    input:
        PLAN.episodes,


rule scores:
    input:
        PLAN.scores,
