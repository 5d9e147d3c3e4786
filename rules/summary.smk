# Scores of all experiments of the run -> tables, figure and report.


rule summary:
    input:
        scores=PLAN.scores,
        beside=PLAN.beside_scores,
    output:
        multiext(
            f"{PLAN.report}/",
            "summary.csv",
            "summary.md",
            "wrong_answers.csv",
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
        # read from the configuration: a report made when more or less could be quoted is made again
        quoted=PLAN.quoted,
    script:
        "../scripts/summarize.py"
