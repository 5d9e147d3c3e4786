# One job makes the episodes of one shard; each episode is a target of its own. Nothing but these rules costs money.
#
# `update` keeps the episodes that exist. What says which episodes a job makes stands in `resources`, whose change makes no job run again.
# The data are `ancient`: data that were built again do not make a single episode run again by themselves; the worker compares their digest.

RUN_EPISODES = (
    "{resources.python:q} -m medagentgym.worker --plan={resources.plan:q} --experiment {resources.experiment}"
    " --episodes {resources.first}:{resources.end} --log={log:q}"
)

for shard in PLAN.shards:

    rule:
        name:
            shard.rule
        input:
            ancient(shard.experiment.data),
        output:
            update(shard.files),
        log:
            shard.log,
        conda:
            "../envs/medagentgym.yaml"
        resources:
            python=sys.executable,
            plan=PLAN.file,
            experiment=shard.experiment.number,
            first=shard.first,
            end=shard.end,
        shell:
            RUN_EPISODES


if PLAN.single:

    rule episode:
        input:
            ancient(f"{PLAN.work_dir}/data/{{task}}/build.json"),
        output:
            update(
                f"{PLAN.work_dir}/{{task}}/{{tag}}/{{mode}}/history_{{episode}}.json"
            ),
        log:
            f"{PLAN.work_dir}/logs/{{task}}/{{tag}}/{{mode}}/history_{{episode}}.log",
        conda:
            "../envs/medagentgym.yaml"
        resources:
            python=sys.executable,
            plan=PLAN.file,
            experiment=lambda wildcards: PLAN.experiment(
                wildcards.task, wildcards.tag, wildcards.mode
            ).number,
            first=lambda wildcards: PLAN.position(**wildcards),
            end=lambda wildcards: PLAN.position(**wildcards) + 1,
        shell:
            RUN_EPISODES
