# Scores of all experiments of the run -> tables, figure and report.


rule summary:
    input:
        scores=PLAN.scores,
    output:
        multiext(
            f"{PLAN.report}/",
            "summary.csv",
            "summary.md",
            "disagreements.csv",
            "timings.csv",
            "success.png",
            "success.svg",
            "success.pdf",
            "report.html",
        ),
    log:
        f"{PLAN.work_dir}/logs/reports/{PLAN.name}.log",
    conda:
        "../envs/medagentgym.yaml"
    resources:
        plan=PLAN.file,
    params:
        asked=PLAN.asked,
        partial=PLAN.partial,
        excluded_by_audit=PLAN.excluded_by_audit,
    script:
        "../scripts/summarize.py"
