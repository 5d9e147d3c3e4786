# Trajectories -> scores, a file an experiment. Costs seconds and no model call.


rule score:
    input:
        episodes=lambda wildcards: PLAN.scored_files(
            wildcards.task, wildcards.tag, wildcards.mode
        ),
        data=f"{PLAN.work_dir}/data/{{task}}/build.json",
    output:
        f"{PLAN.work_dir}/{{task}}/{{tag}}/scores_{{mode}}.parquet",
        f"{PLAN.work_dir}/{{task}}/{{tag}}/scores_{{mode}}.csv",
        f"{PLAN.work_dir}/{{task}}/{{tag}}/scores_{{mode}}_wrong.csv",
        f"{PLAN.work_dir}/{{task}}/{{tag}}/scores_{{mode}}_timings.csv",
    log:
        f"{PLAN.work_dir}/logs/{{task}}/{{tag}}/scores_{{mode}}.log",
    conda:
        "../envs/medagentgym.yaml"
    resources:
        plan=PLAN.file,
        experiment=lambda wildcards: PLAN.experiment(
            wildcards.task, wildcards.tag, wildcards.mode
        ).number,
    params:
        fingerprint=lambda wildcards: PLAN.scoring_fingerprint(wildcards.task),
    script:
        "../scripts/score.py"
