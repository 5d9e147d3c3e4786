"""The summary of a run: one row an experiment and judge, from the score tables of its experiments.

Every rate stands beside its denominators, and what is not known (unscorable episodes, censored ones, costs without a price) is said and never counted
as a failure or as nothing. A folder of reports holds

- `summary.csv` (`SUMMARY_COLUMNS`, all figures) and `summary.md` (the same for people),
- `success.png`, `.pdf`, `.svg` and `report.html`,
- `wrong_answers.csv` (every episode that the leading judge calls wrong) and `disagreements.csv` (every one on which the judges disagree), both with
  what each judge said, and with question, answer and gold where `medagentgym.policy.may_be_quoted`,
- `timings.csv` (seconds an episode; the only file that differs between two runs of the same experiment).
"""

from __future__ import annotations

import json
import math
import os
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pandas as pd
from tabulate import tabulate

from medagentgym.answers import shortened
from medagentgym.config import Config
from medagentgym.csv_tables import SUMMARY_AGAIN, read_csv_table
from medagentgym.errors import UserError, one_line
from medagentgym.experiment_labels import experiment_labels, shared_heading
from medagentgym.figures import MADE_UP, draw_success
from medagentgym.judges.references import ReferenceSummary, most_satisfied
from medagentgym.policy import may_be_quoted
from medagentgym.record import write_text
from medagentgym.report import EpisodeList, render_report
from medagentgym.scores import (
    EPISODE_COLUMNS,
    TEXT_COLUMNS,
    TIMING_COLUMNS,
    read_scores,
    records,
    timings_file,
    verdict_columns,
    write_csv,
    wrong_file,
)
from medagentgym.tasks.registry import get_task_class, task_names

CONFIDENCE = 0.95
PRINTED_WIDTH = 100
NOT_KNOWN = "-"
"""What the tables for people show where a figure is not known or does not apply."""

SUMMARY_COLUMNS = {
    "task": "Task.",
    "tag": "Folder of the experiment's episodes, which names agent and model.",
    "mode": "Which questions: train or test.",
    "data": "`made up` where `data.synthetic` made them, so that the figures are no result on real data; otherwise `given`.",
    "agent": "Agent.",
    "model": "Model of the agent, where it has one.",
    "protocol": "`submit`: one verdict, on the last attempt. `oracle_stop`: an attempt that the stop judge accepts ends the episode.",
    "stop_judge": "The judge that ended episodes under `oracle_stop`.",
    "judge": "The judge that made the verdicts of this row.",
    "asked": "Episodes asked for (instances times rollouts).",
    "done": "Episodes that ended in a verdict.",
    "missing": "Episodes asked for that are not done yet.",
    "excluded_by_audit": "Instances that are not asked because the audit found them impossible to judge; empty without `data.exclude: audit`.",
    "scored": "Done episodes that this judge could judge: the denominator of the success rate.",
    "unscorable": "Done episodes that this judge cannot judge, because their evidence was not kept.",
    "successes": "Scored episodes that the judge calls correct.",
    "success_rate": "Successes in scored episodes.",
    "ci_low": "Lower end of the 95 % Wilson interval of the success rate.",
    "ci_high": "Upper end of the interval; where episodes are censored, that of the upper bound.",
    "censored": "Episodes that the stop judge ended on an answer which this judge overrules: what would have followed is unknown.",
    "rate_lower": "Success rate if every censored episode had failed.",
    "rate_upper": "Success rate if every censored episode had succeeded.",
    "first_scored": "Episodes whose first attempt this judge could judge: the denominator of the next rate.",
    "first_successes": "Episodes that were correct at their first attempt.",
    "first_rate": "Success at the first attempt.",
    "usable": "Scored episodes whose gold is neither empty, nor zero, nor failed. On a small database many golds are empty. Like the next two and "
    "`usable_floor` empty where `balanced_accuracy` is given: there zero and false are answers like others.",
    "usable_successes": "Successes among them.",
    "usable_rate": "Success rate on usable golds.",
    "balanced_accuracy": "In tasks whose questions have one of a few answers: mean of the success rates on the questions of each answer.",
    "floor": "What the best constant answer scores under the strict judge on the same instances: the share of golds that it satisfies.",
    "floor_instances": "Instances from which the floor is taken.",
    "usable_floor": "The floor among the instances whose gold is usable.",
    "answerable": "Scored episodes on questions that the data can answer; like the next eight columns empty where no other questions were asked.",
    "answerable_successes": "Successes among them.",
    "answerable_rate": "Success rate on answerable questions.",
    "wrongly_abstained": "Scored episodes on answerable questions in which the agent abstained.",
    "wrongly_abstained_rate": "Their share in those on answerable questions.",
    "impossible": "Scored episodes on questions that the data cannot answer.",
    "abstained": "Scored episodes on impossible questions in which the agent abstained, which is the right answer to them.",
    "abstained_rate": "Their share in those on impossible questions.",
    "abstain_floor": "What abstaining from every question scores under the strict judge on the same instances: the share of impossible ones.",
    "rollouts": "Episodes an instance.",
    "instances": "Instances with a scored episode.",
    "pass_at_k": "With several rollouts: share of instances with a success in any scored rollout.",
    "disagreements": "Episodes on which the judges disagree.",
    "compared": "Episodes that two judges or more could judge.",
    "mean_steps": "Actions an episode.",
    "mean_attempts": "Attempts an episode: executions that left an answer (or printed one, where that counts), and abstentions.",
    "calls": "Calls of the model, in all.",
    "prompt_tokens": "Prompt tokens, in all.",
    "completion_tokens": "Completion tokens, in all.",
    "reasoning_tokens": "Reasoning tokens, in all; part of the completion tokens.",
    "cached_tokens": "Cached prompt tokens, in all.",
    "cost": "Cost in all, or `unknown` where a model was called and no price is configured.",
    "stop_reasons": "How often episodes ended for which reason.",
    "sandbox": "Sandbox backend and level of isolation.",
    "sees_reference": "Whether the agent is given the reference solution: an audit of the task, not a result.",
}
"""Columns of `summary.csv`, with what each means. An empty cell is a figure that is not known."""


def summarize(
    configs: Sequence[Config],
    score_files: Sequence[Path],
    asked: Mapping[str, int],
    out: Path,
    partial: bool,
    excluded_by_audit: Mapping[str, int] | None = None,
) -> pd.DataFrame:
    """Write the summary of a run into the folder `out`, and give the rows of `summary.csv`.

    `configs` and `score_files` belong together by position, one pair an experiment. `asked` is the number of episodes asked for, by `experiment_key`;
    `excluded_by_audit` that of the instances left out by `data.exclude: audit`, for the experiments that have it.
    Raises `UserError` where episodes are missing and the table is not said to be `partial`.
    """
    rows: list[dict[str, Any]] = []
    wrong: list[dict[str, Any]] = []
    disagreements: list[dict[str, Any]] = []
    timings: list[dict[str, Any]] = []
    for config, path in zip(configs, score_files, strict=True):
        episodes = records(read_scores(path))
        left_out = (excluded_by_audit or {}).get(experiment_key(config))
        summarized = _summarize_experiment(config, episodes, asked[experiment_key(config)], path, partial=partial)
        rows.extend(row | {"excluded_by_audit": left_out} for row in summarized)
        listed = _listed_episodes(episodes, path, quoted=may_be_quoted(config))
        wrong.extend(row for row in listed if row[f"{episodes[0]['judge']}_verdict"] == "wrong")
        apart = {(episode["idx"], episode["rollout"]) for episode in episodes if episode["judges_agree"] is False}
        disagreements.extend(row for row in listed if (row["idx"], row["rollout"]) in apart)
        timings.extend(_timings(episodes, path))
    summary = pd.DataFrame(rows, columns=list(SUMMARY_COLUMNS), dtype=object)
    out.mkdir(parents=True, exist_ok=True)
    write_csv(summary, out / "summary.csv")
    write_csv(_episode_list(wrong), out / "wrong_answers.csv")
    write_csv(_episode_list(disagreements), out / "disagreements.csv")
    write_csv(pd.DataFrame(timings, columns=TIMING_COLUMNS), out / "timings.csv")
    draw_success(summary, out)
    title = f"{'PARTIAL: ' if partial else ''}{out.name}"
    success, episodes_table = success_table(summary), episode_table(summary)
    all_remarks = [*remarks(summary), *remarks_of_tasks(configs)]
    write_text(out / "summary.md", _markdown(title, summary, all_remarks, success, episodes_table))
    report = render_report(
        title,
        success,
        episodes_table,
        [
            EpisodeList("Wrong answers", "Episodes that the leading judge of their experiment calls wrong.", "wrong_answers.csv", wrong),
            EpisodeList("Where the judges disagree", "The answer is the last one that the agent left.", "disagreements.csv", disagreements),
        ],
        out / "success.svg",
        heading=shared_heading(rows),
        remarks=all_remarks,
        columns=SUMMARY_COLUMNS,
        note=_note_on_quotes(configs),
    )
    write_text(out / "report.html", report)
    return summary


def experiment_key(config: Config) -> str:
    """`<task>/<tag>/<mode>`: what names an experiment of a run. The configuration must have its tag."""
    return f"{config.task}/{config.result_dir_tag}/{config.mode}"


# --- one experiment ---------------------------------------------------------------------------------------------------------------------------------


def _summarize_experiment(config: Config, episodes: list[dict[str, Any]], asked: int, path: Path, *, partial: bool) -> list[dict[str, Any]]:
    judges = list(dict.fromkeys(episode["judge"] for episode in episodes)) or list(config.scoring.judges)
    done = sum(episode["judge"] == judges[0] for episode in episodes)
    if done > asked:
        raise UserError(f"{path}: holds {done} episodes where {asked} were asked for; delete the file to have it made again")
    if done < asked and not partial:
        raise UserError(
            f"{experiment_key(config)}: {asked - done} of {asked} episodes are missing; run again, or ask for a partial table (partial=true)"
        )
    rows = []
    for judge in judges:
        judged = [episode for episode in episodes if episode["judge"] == judge]
        row: dict[str, Any] = {"task": config.task, "tag": config.result_dir_tag, "mode": config.mode}
        row |= {"data": MADE_UP if config.data.synthetic is not None else "given", "agent": config.agent.name}
        row["model"] = config.agent.llm.model_name if config.agent.name == "llm" else None
        row |= {"judge": judge, "asked": asked, "done": done, "missing": asked - done}
        row |= _protocol(config, judged) | _success(judged, config.training.num_rollouts) | _floor(judge, judged)
        is_classification = _is_classification(config.task)
        row["balanced_accuracy"] = balanced_accuracy(judged) if is_classification else None
        if is_classification:  # a gold of "no" counts as zero there, and would be left out
            row |= dict.fromkeys(("usable", "usable_successes", "usable_rate", "usable_floor"))
        rows.append(row | _abstaining(judge, judged) | _effort(judged))
    return rows


def _protocol(config: Config, judged: list[dict[str, Any]]) -> dict[str, Any]:
    if not judged:
        return {"protocol": config.protocol, "stop_judge": config.stop_judge if config.protocol == "oracle_stop" else None}
    stops = {episode["stop_judge"] for episode in judged if episode["protocol"] == "oracle_stop"}
    return {"protocol": _joined(episode["protocol"] for episode in judged), "stop_judge": _joined(stops) or None}


def _success(judged: list[dict[str, Any]], rollouts: int) -> dict[str, Any]:
    scored = [episode for episode in judged if episode["correct"] is not None]
    first = [episode["first_attempt_correct"] for episode in judged if episode["first_attempt_correct"] is not None]
    usable = [episode["correct"] for episode in scored if episode["gold_status"] == "usable"]
    successes = sum(episode["correct"] for episode in scored)
    censored = sum(episode["censored"] for episode in scored)
    by_instance: dict[int, list[bool]] = {}
    for episode in scored:
        by_instance.setdefault(episode["idx"], []).append(episode["correct"])
    return {
        "scored": len(scored),
        "unscorable": len(judged) - len(scored),
        "successes": successes,
        "success_rate": _rate(successes, len(scored)),
        "ci_low": _interval(successes, len(scored), len(by_instance))[0],
        "ci_high": _interval(successes + censored, len(scored), len(by_instance))[1],
        "censored": censored,
        "rate_lower": _rate(successes, len(scored)),
        "rate_upper": _rate(successes + censored, len(scored)),
        "first_scored": len(first),
        "first_successes": sum(first),
        "first_rate": _rate(sum(first), len(first)),
        "usable": len(usable),
        "usable_successes": sum(usable),
        "usable_rate": _rate(sum(usable), len(usable)),
        "rollouts": rollouts,
        "instances": len(by_instance),
        "pass_at_k": _rate(sum(any(verdicts) for verdicts in by_instance.values()), len(by_instance)) if rollouts > 1 else None,
    }


def _is_classification(task: str) -> bool:
    """Whether a task says so of itself; one that is no longer installed says nothing."""
    return task in task_names() and get_task_class(task).is_classification


def balanced_accuracy(judged: list[dict[str, Any]]) -> float | None:
    """Mean over the different golds of the success rate on the episodes that have it: half for an agent that always says the same of two."""
    by_gold: dict[str, list[bool]] = {}
    for episode in judged:
        if episode["correct"] is not None and episode["gold_key"] is not None:
            by_gold.setdefault(episode["gold_key"], []).append(episode["correct"])
    return round(sum(sum(verdicts) / len(verdicts) for verdicts in by_gold.values()) / len(by_gold), 6) if by_gold else None


def _floor(judge: str, judged: list[dict[str, Any]]) -> dict[str, Any]:
    golds = {
        episode["idx"]: ReferenceSummary(episode["gold_status"], episode["gold_key"] or "", episode["gold_low"], episode["gold_high"])
        for episode in judged
        if episode["gold_status"] is not None
    }
    if judge != "strict" or not golds:
        return {"floor": None, "floor_instances": None, "usable_floor": None}
    usable = [gold for gold in golds.values() if gold.status == "usable"]
    return {
        "floor": _rate(most_satisfied(gold for gold in golds.values() if gold.status != "impossible"), len(golds)),
        "floor_instances": len(golds),
        "usable_floor": _rate(most_satisfied(usable), len(usable)),
    }


def _abstaining(judge: str, judged: list[dict[str, Any]]) -> dict[str, Any]:
    """The rates of runs with impossible questions; for others all of them are empty."""
    is_asked = any(episode["impossible"] or episode["abstained"] for episode in judged)
    scored = [episode for episode in judged if episode["correct"] is not None]
    answerable = [episode for episode in scored if not episode["impossible"]]
    impossible = [episode for episode in scored if episode["impossible"]]
    successes = sum(episode["correct"] for episode in answerable)
    wrongly, rightly = (sum(episode["abstained"] for episode in episodes) for episodes in (answerable, impossible))
    instances = {episode["idx"]: bool(episode["impossible"]) for episode in judged}
    figures = {
        "answerable": len(answerable),
        "answerable_successes": successes,
        "answerable_rate": _rate(successes, len(answerable)),
        "wrongly_abstained": wrongly,
        "wrongly_abstained_rate": _rate(wrongly, len(answerable)),
        "impossible": len(impossible),
        "abstained": rightly,
        "abstained_rate": _rate(rightly, len(impossible)),
        "abstain_floor": _rate(sum(instances.values()), len(instances)) if judge == "strict" else None,
    }
    return figures if is_asked else dict.fromkeys(figures)


def _effort(judged: list[dict[str, Any]]) -> dict[str, Any]:
    compared = [episode["judges_agree"] for episode in judged if episode["judges_agree"] is not None]
    costs = [0.0 if episode["cost"] is None and episode["calls"] == 0 else episode["cost"] for episode in judged]
    return {
        "disagreements": compared.count(False),
        "compared": len(compared),
        "mean_steps": _mean(episode["steps"] for episode in judged),
        "mean_attempts": _mean(episode["attempts"] for episode in judged),
        **{
            name: _total(episode[name] for episode in judged)
            for name in ("calls", "prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")
        },
        "cost": round(sum(costs), 6) if costs and None not in costs else "unknown",
        "stop_reasons": ", ".join(f"{reason} {count}" for reason, count in sorted(Counter(episode["stop_reason"] for episode in judged).items())),
        "sandbox": _joined(
            f"{episode['sandbox_backend']} ({episode['sandbox_level']})" if episode["sandbox_backend"] else "not known" for episode in judged
        ),
        "sees_reference": any(episode["sees_reference"] for episode in judged),
    }


def wilson_interval(successes: int, count: int) -> tuple[float | None, float | None]:
    """The 95 % score interval of a share (E. B. Wilson, J. Am. Stat. Assoc. 22, 209, 1927), without continuity correction; unknown for 0."""
    if count == 0:
        return None, None
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    share_of_successes = successes / count
    centre = share_of_successes + z**2 / (2 * count)
    reach = z * math.sqrt(share_of_successes * (1 - share_of_successes) / count + z**2 / (4 * count**2))
    scale = 1 + z**2 / count
    return round(max(0.0, centre - reach) / scale, 6), round(min(scale, centre + reach) / scale, 6)


def _interval(successes: int, count: int, instances: int) -> tuple[float | None, float | None]:
    """Several rollouts of an instance are no independent draws: the interval counts instances, with successes in proportion."""
    return wilson_interval(successes if instances == count else round(successes / count * instances), instances)


def _rate(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 4) if known else None


def _total(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _joined(values: Iterable[str | None]) -> str:
    return " + ".join(sorted({value for value in values if value is not None}))


# --- the other files --------------------------------------------------------------------------------------------------------------------------------


def _listed_episodes(episodes: list[dict[str, Any]], scores: Path, *, quoted: bool) -> list[dict[str, Any]]:
    """The episodes that a judge calls wrong, with the judges' verdicts; with question, answer, gold and reasons where they may be `quoted`.

    Raises `UserError` where the list beside the scores does not belong to them.
    """
    path = wrong_file(scores)
    to_do = "delete the file to have it made again"
    verdicts: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for episode in episodes:
        verdicts.setdefault((episode["idx"], episode["rollout"]), []).append(episode)
    expected = {key: of_episode for key, of_episode in verdicts.items() if any(verdict["correct"] is False for verdict in of_episode)}
    rows = read_csv_table(path, (*EPISODE_COLUMNS, *TEXT_COLUMNS), "list of wrong answers", to_do)
    if [(row["idx"], row["rollout"]) for row in rows] != [(str(idx), str(rollout)) for idx, rollout in expected]:
        raise UserError(f"{path}: lists other episodes than {scores.name} calls wrong; {to_do}")
    listed = []
    for row, of_episode in zip(rows, expected.values(), strict=True):
        columns = {name: row[name] for name in EPISODE_COLUMNS} | {name: of_episode[0][name] for name in ("idx", "rollout")}
        listed.append(columns | {name: row[name] for name in TEXT_COLUMNS if quoted} | verdict_columns(of_episode, reasons=quoted))
    return listed


def _episode_list(rows: list[dict[str, Any]]) -> pd.DataFrame:
    columns = dict.fromkeys(EPISODE_COLUMNS)
    if any("question" in row for row in rows):
        columns |= dict.fromkeys(TEXT_COLUMNS)
    for row in rows:
        columns |= dict.fromkeys(row)
    return pd.DataFrame(rows, columns=list(columns), dtype=object)


def _note_on_quotes(configs: Sequence[Config]) -> str:
    """Where the texts are that may not stand in a report; empty where all may."""
    hidden = [config for config in configs if not may_be_quoted(config)]
    if not hidden:
        return ""
    files = ", ".join(dict.fromkeys(f"{config.task}/{config.result_dir_tag}/scores_{config.mode}_wrong.csv" for config in hidden))
    return (
        f"The records of {', '.join(dict.fromkeys(config.task for config in hidden))} are credentialed and reports are passed on, so questions, "
        f"answers, golds and the reasons of judges are not shown here. They stand in {files}, in the private working folder."
    )


def _timings(episodes: list[dict[str, Any]], scores: Path) -> list[dict[str, Any]]:
    """The timings of an experiment. Raises `UserError` where they do not belong to its scores."""
    path = timings_file(scores)
    to_do = "delete the file to have it made again"
    rows = read_csv_table(path, TIMING_COLUMNS, "table of timings", to_do)
    timed = dict.fromkeys((str(episode["idx"]), str(episode["rollout"])) for episode in episodes if episode["stop_reason"] != "published")
    if [(row["idx"], row["rollout"]) for row in rows] != list(timed):
        raise UserError(f"{path}: holds other episodes than {scores.name}; {to_do}")
    return list(rows)


# --- tables for people ------------------------------------------------------------------------------------------------------------------------------


def success_table(summary: pd.DataFrame) -> pd.DataFrame:
    """How well: one row an experiment and judge, as text."""
    rows = []
    has_usable = summary["usable"].notna().any()
    for row, label in zip(records(summary), experiment_labels(records(summary)), strict=True):
        cells = {"experiment": label, "protocol": _protocol_label(row), "judge": row["judge"]}
        cells |= {name: str(row[name]) for name in ("asked", "done", "missing")}
        cells["success"] = share(row["successes"], row["scored"], row["success_rate"])
        cells["95 % interval"] = NOT_KNOWN if row["ci_low"] is None else percent_range(row["ci_low"], row["ci_high"])
        if summary["censored"].any():
            cells["bounds"] = percent_range(row["rate_lower"], row["rate_upper"]) if row["censored"] else NOT_KNOWN
        if summary["unscorable"].any():
            cells["unscorable"] = str(row["unscorable"])
        cells["first attempt"] = share(row["first_successes"], row["first_scored"], row["first_rate"])
        if (summary["rollouts"] > 1).any():
            cells["any rollout"] = (
                NOT_KNOWN if row["pass_at_k"] is None else f"{percent(row['pass_at_k'])} of {row['instances']}, k = {row['rollouts']}"
            )
        if has_usable:
            cells["on usable golds"] = share(row["usable_successes"], row["usable"], row["usable_rate"])
        if summary["balanced_accuracy"].notna().any():
            cells["balanced accuracy"] = NOT_KNOWN if row["balanced_accuracy"] is None else percent(row["balanced_accuracy"])
        cells["floor"] = NOT_KNOWN if row["floor"] is None else percent(row["floor"])
        if has_usable:
            cells["usable floor"] = NOT_KNOWN if row["usable_floor"] is None else percent(row["usable_floor"])
        if summary["impossible"].notna().any():
            cells["on answerable"] = share(row["answerable_successes"], row["answerable"], row["answerable_rate"])
            cells["abstained from answerable"] = share(row["wrongly_abstained"], row["answerable"], row["wrongly_abstained_rate"])
            cells["abstained from impossible"] = share(row["abstained"], row["impossible"], row["abstained_rate"])
            cells["abstain floor"] = NOT_KNOWN if row["abstain_floor"] is None else percent(row["abstain_floor"])
        cells["judges disagree"] = f"{row['disagreements']}/{row['compared']}"
        rows.append(cells)
    return pd.DataFrame(rows, dtype=object)


def episode_table(summary: pd.DataFrame) -> pd.DataFrame:
    """With how much effort: one row an experiment, as text."""
    rows = []
    experiments = records(summary.drop_duplicates(["task", "tag", "mode"]))
    for row, label in zip(experiments, experiment_labels(experiments), strict=True):
        cells = {"experiment": label}
        cells |= {"steps": _decimal(row["mean_steps"]), "attempts": _decimal(row["mean_attempts"]), "calls": _whole(row["calls"])}
        cells["tokens in / out"] = (
            NOT_KNOWN if row["prompt_tokens"] is None else f"{_whole(row['prompt_tokens'])} / {_whole(row['completion_tokens'])}"
        )
        cells["cost"] = row["cost"] if isinstance(row["cost"], str) else f"{row['cost']:.4g}"
        cells |= {"stop reasons": row["stop_reasons"] or NOT_KNOWN, "sandbox": row["sandbox"] or NOT_KNOWN}
        rows.append(cells)
    return pd.DataFrame(rows, dtype=object)


def remarks(summary: pd.DataFrame) -> list[str]:
    """What a reader must know before quoting the tables, in sentences."""
    sentences = []
    missing = summary.drop_duplicates(["task", "tag", "mode"])[["asked", "missing"]].sum()
    if missing["missing"]:
        sentences.append(f"PARTIAL: {missing['missing']} of the {missing['asked']} episodes asked for are missing; rates count those that are done.")
    sentences += _made_up(records(summary))
    left_out = summary.drop_duplicates(["task", "tag", "mode"]).dropna(subset=["excluded_by_audit"])
    if not left_out.empty:
        counts = ", ".join(f"{row['excluded_by_audit']} of {experiment_label(row)}" for row in records(left_out))
        sentences.append(f"Left out, because the audit found that they cannot be judged, and part of no figure: {counts}.")
    if summary["censored"].any():
        sentences.append(
            "Some episodes were ended by their stop judge on an answer that another judge overrules. What would have followed is unknown: the bounds "
            "count all of these as failures, then as successes, and the interval runs from the lower end of the one to the upper end of the other."
        )
    if summary["unscorable"].any():
        sentences.append("Episodes without kept evidence cannot be judged again. They stand under unscorable and in no rate.")
    if (summary["protocol"] == "oracle_stop").any():
        sentences.append(
            "Under oracle_stop the judge tells when to stop, which leaks the label (guessing both answers solves every yes-or-no question): "
            "compare success at the first attempt."
        )
    if summary["impossible"].notna().any():
        sentences.append(
            "Some questions cannot be answered from the data, and abstaining is the only right answer to them. Success counts these with the others; "
            "the abstain floor is what abstaining from every question would score."
        )
        if (summary["judge"] == "published").any():
            sentences.append("The published judge knows no abstaining: to it every abstention is wrong.")
    audits = list(dict.fromkeys(experiment_label(row) for row in records(summary) if row["sees_reference"]))
    if audits:
        sentences.append(f"Given the reference solution, so an audit of the task and no result: {', '.join(audits)}.")
    if (summary["rollouts"] > 1).any():
        sentences.append("With several rollouts the interval counts instances, because rollouts of one instance are not independent.")
    return sentences


def _made_up(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence on the experiments whose data are made up; none where all are given."""
    made_up = list(dict.fromkeys(experiment_label(row) for row in rows if row["data"] == MADE_UP))
    return [f"Made-up data (data.synthetic), so no result on real data: {', '.join(made_up)}."] if made_up else []


def remarks_of_tasks(configs: Sequence[Config]) -> list[str]:
    """What the tasks say of their data and of how they judge, each remark once."""
    found = [
        f"{config.task}: {remark}" for config in configs if config.task in task_names() for remark in get_task_class(config.task).remarks(config)
    ]
    return list(dict.fromkeys(found))


def experiment_label(row: Mapping[str, Any]) -> str:
    """An experiment as the tables name it."""
    return f"{row['task']}/{row['tag']}/{row['mode']}"


def share(part: int, whole: int, rate: float | None) -> str:
    """A rate with its denominator, for example `37/100 = 37.0 %`."""
    return NOT_KNOWN if rate is None else f"{part}/{whole} = {percent(rate)}"


def percent(rate: float) -> str:
    """A share in per cent with one decimal."""
    return f"{100 * rate:.1f} %"


def percent_range(low: float, high: float) -> str:
    """A range of shares, for example `28.2 to 46.8 %`."""
    return f"{100 * low:.1f} to {percent(high)}"


def _protocol_label(row: Mapping[str, Any]) -> str:
    return f"{row['protocol']} ({row['stop_judge']})" if row["stop_judge"] else str(row["protocol"])


def _decimal(value: float | None) -> str:
    return NOT_KNOWN if value is None else f"{value:.2f}"


def _whole(value: int | None) -> str:
    return NOT_KNOWN if value is None else f"{value:,}"


def _markdown(title: str, summary: pd.DataFrame, remarks: Sequence[str], success: pd.DataFrame, episodes: pd.DataFrame) -> str:
    parts = [
        f"# {title}",
        shared_heading(records(summary)),
        *remarks,
        "## Success",
        _as_markdown(success),
        "## Episodes",
        _as_markdown(episodes),
    ]
    meanings = "\n".join(f"- `{name}`: {meaning}" for name, meaning in SUMMARY_COLUMNS.items())
    parts += ["![Success rates](success.png)", "## What the figures of summary.csv mean", meanings]
    return "\n\n".join(part for part in parts if part) + "\n"


def _as_markdown(table: pd.DataFrame) -> str:
    return tabulate(table.astype(str).to_numpy().tolist(), headers=list(table.columns), tablefmt="github", disable_numparse=True)


# --- after a run ------------------------------------------------------------------------------------------------------------------------------------


_RUNNING_RECORD = ("task", "tag", "mode", "agent", "model", "protocol", "asked", "done", "missing", "judge", "success_rate")


def append_running_record(work_dir: Path, name: str, summary: pd.DataFrame, *, time: datetime | None = None) -> None:
    """Append one JSON line an experiment of the run to `work_dir/running_records.jsonl`, in one write. The file is private to its user.

    A line has `time` (UTC), `name`, `task`, `tag`, `mode`, the counts and the success rate under the leading judge, and `success_rates` by judge.
    """
    stamp = (time or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds")
    lines = []
    for _, group in summary.groupby(["task", "tag", "mode"], sort=False):
        rows = records(group)
        leading = {name: rows[0][name] for name in _RUNNING_RECORD}
        leading["success_rates"] = {row["judge"]: row["success_rate"] for row in rows}
        lines.append(json.dumps({"time": stamp, "name": name, **leading, "cost": rows[0]["cost"]}, ensure_ascii=False) + "\n")
    descriptor = os.open(work_dir / "running_records.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, "".join(lines).encode())
    finally:
        os.close(descriptor)


def print_summary(folder: Path) -> None:
    """Print a compact table of a reports folder, at most `PRINTED_WIDTH` columns wide, the notes of its `summary.md`, and where all of it is.

    Raises `UserError` where the folder has no summary.
    """
    path = folder / "summary.csv"
    if not path.is_file():
        raise UserError(f"{path}: there is no summary; give a folder <work_dir>/reports/<name> of a run that has ended")
    given = read_csv_table(path, _PRINTED, "summary", SUMMARY_AGAIN)
    summary = pd.DataFrame(given, dtype=object).reindex(columns=list(SUMMARY_COLUMNS), fill_value="")
    try:
        _print_tables(summary, _notes_of(folder, shared_heading(records(summary))))
    except ValueError as error:
        raise UserError(f"{path}: not a readable summary ({one_line(error)}); {SUMMARY_AGAIN}") from error
    print()
    for what, file in (("table", "summary.md"), ("figure", "success.png"), ("report", "report.html")):
        print(f"{what:7} {folder / file}")


_PRINTED = (
    "task",
    "tag",
    "mode",
    "judge",
    "asked",
    "done",
    "missing",
    "scored",
    "successes",
    "success_rate",
    "ci_low",
    "ci_high",
    "first_rate",
    "floor",
)


def _print_tables(summary: pd.DataFrame, notes: Sequence[str]) -> None:
    """Print the rows of a `summary.csv`, then the notes. Raises `ValueError` where a figure is none; then nothing is printed."""
    rows = []
    for row, label in zip(records(summary), experiment_labels(records(summary)), strict=True):
        success = f"{row['successes']}/{row['scored']} = {_percent_of(row['success_rate'])}"
        interval = percent_range(float(row["ci_low"]), float(row["ci_high"])) if row["ci_low"] else NOT_KNOWN
        done = row["done"] if row["missing"] == "0" else f"{row['done']}/{row['asked']}"
        rows.append([label, row["judge"], done, success, interval, _percent_of(row["first_rate"]), _percent_of(row["floor"])])
    headers = ["experiment", "judge", "done", "success", "95 % interval", "first try", "floor"]
    table = _printed(headers, rows)
    parts = [shared_heading(records(summary)), table, _printed_caveats(summary), _printed_abstentions(summary)]
    parts += [textwrap.fill(note, PRINTED_WIDTH, break_long_words=False, break_on_hyphens=False) for note in notes]
    if (summary["missing"] != "0").any():
        print("PARTIAL: episodes are missing")
    print(*[part for part in parts if part], sep="\n\n")


def _notes_of(folder: Path, heading: str) -> list[str]:
    """What `summary.md` says above its tables. Only there is it kept, because the tasks say it of the data and the rules of the run."""
    path = folder / "summary.md"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return [f"{path} cannot be read, so its notes on these figures are not shown; delete {folder / 'summary.csv'} and run the workflow again."]
    return [paragraph for paragraph in text.partition("\n## Success\n")[0].strip().split("\n\n")[1:] if paragraph != heading]


def _printed_caveats(summary: pd.DataFrame) -> str:
    """A second table, of bounds where episodes are censored, and of usable golds where fewer than half are usable; empty where there is neither."""
    given = records(summary)
    has_bounds = any(row["censored"] not in ("", "0") for row in given)
    has_usable = any(row["usable"] and row["scored"] and 2 * int(row["usable"]) < int(row["scored"]) for row in given)
    if not has_bounds and not has_usable:
        return ""
    rows = []
    for row, label in zip(given, experiment_labels(given), strict=True):
        cells = {"experiment": label, "judge": row["judge"]}
        if has_bounds:
            is_censored = row["censored"] not in ("", "0")
            cells["bounds"] = percent_range(float(row["rate_lower"]), float(row["rate_upper"])) if is_censored else NOT_KNOWN
        if has_usable:
            rate = f"{row['usable_successes']}/{row['usable']} = {_percent_of(row['usable_rate'])}"
            cells |= {"on usable golds": rate if row["usable_rate"] else NOT_KNOWN, "usable floor": _percent_of(row["usable_floor"])}
        rows.append(cells)
    return _printed(list(rows[0]), [list(cells.values()) for cells in rows])


def _printed_abstentions(summary: pd.DataFrame) -> str:
    """A second table, of the experiments with impossible questions under their leading judge; empty where there are none."""
    asked = summary[summary["impossible"] != ""].drop_duplicates(["task", "tag", "mode"])
    if asked.empty:
        return ""
    rows = []
    for row, label in zip(records(asked), experiment_labels(records(asked)), strict=True):
        of_answerable = [f"{row[name]}/{row['answerable']}" for name in ("answerable_successes", "wrongly_abstained")]
        rows.append([label, *of_answerable, f"{row['abstained']}/{row['impossible']}", _percent_of(row["abstain_floor"])])
    return _printed(["experiment", "right on answerable", "wrongly abstained", "rightly abstained", "abstain floor"], rows)


def _printed(headers: list[str], rows: list[list[str]]) -> str:
    """A table of at most `PRINTED_WIDTH` columns: the labels in its first column are shortened where they must be."""
    table = tabulate(rows, headers=headers, tablefmt="simple", disable_numparse=True)
    excess = max(len(line) for line in table.splitlines()) - PRINTED_WIDTH
    if excess <= 0:
        return table
    width = max(len(row[0]) for row in rows) - excess
    narrower = [[shortened(row[0], width), *row[1:]] for row in rows]
    return tabulate(narrower, headers=headers, tablefmt="simple", disable_numparse=True)


def _percent_of(cell: str) -> str:
    return percent(float(cell)) if cell else NOT_KNOWN
