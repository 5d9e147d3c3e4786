# Raw tables or task files -> work_dir/data/<task>/


rule build_data:
    input:
        lambda wildcards: PLAN.sources(wildcards.task),
    output:
        f"{PLAN.work_dir}/data/{{task}}/build.json",
    log:
        f"{PLAN.work_dir}/logs/data/{{task}}.log",
    conda:
        "../envs/medagentgym.yaml"
    resources:
        python=sys.executable,
        plan=PLAN.file,
    shell:
        "{resources.python:q} -m medagentgym.build --plan={resources.plan:q} --task {wildcards.task} 2>&1 | tee -- {log:q}"
