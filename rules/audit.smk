# References, broken references and cheats of every instance, through boxes and judges. Calls no model; nothing leaves the machine.


rule audit_task:
    input:
        f"{PLAN.work_dir}/data/{{task}}/build.json",
    output:
        f"{PLAN.work_dir}/audit/{{task}}.csv",
        f"{PLAN.work_dir}/audit/{{task}}_summary.csv",
        f"{PLAN.work_dir}/audit/{{task}}_summary.md",
        f"{PLAN.work_dir}/audit/{{task}}.json",
    log:
        f"{PLAN.work_dir}/logs/audit/{{task}}.log",
    conda:
        "../envs/medagentgym.yaml"
    # as a function, since a run without --cores, such as --lint, could not even read the rule
    threads: lambda wildcards: workflow.cores
    resources:
        plan=PLAN.file,
    params:
        fingerprint=lambda wildcards: PLAN.audit_fingerprint(wildcards.task),
    script:
        "../scripts/audit.py"


# Prints what the audits say. Fails where a strict judge can be fooled; the tables are kept.
rule audit:
    input:
        PLAN.audits,
    log:
        f"{PLAN.work_dir}/logs/audit/_floors.log",
    conda:
        "../envs/medagentgym.yaml"
    script:
        "../scripts/show_audit.py"
