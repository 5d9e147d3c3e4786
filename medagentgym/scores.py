"""Scores: every finished episode judged again from the evidence in its record, one row an episode and judge.

Scoring costs nothing but seconds: no model is called and no code is run. What the record does not hold cannot be judged again. Such rows are
*unscorable* (`correct` is null), never failures: an episode of the published system under any judge but `published`, and evidence that was cut off
and carries no verdict of this judge.

An episode that ran under `oracle_stop` and was ended by its stop judge is *censored* where the scoring judge overrules that verdict: what the agent
would have done next is unknown. Its `lower` and `upper` are 0 and 1; for every other scored episode both are its score.

The table is written as Parquet (`scores.parquet`, the same bytes for the same episodes) and, for people, as CSV beside it. What was asked and
answered in the episodes that a judge calls wrong stands in `scores_wrong.csv`. How long steps took goes to a file of its own (`scores_timings.csv`),
because it differs from run to run.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from medagentgym import fingerprint
from medagentgym.agent.registry import get_agent_class
from medagentgym.answers import LONGEST_TEXT, answer_of, gold_text, shortened
from medagentgym.config import Config
from medagentgym.errors import UserError, one_line
from medagentgym.judges.base import Evidence, Judge, Verdict
from medagentgym.judges.references import SummarisesReferences
from medagentgym.plan import ExperimentPlan, data_folder
from medagentgym.record import parse_episode_file, read_record, write_text
from medagentgym.tasks.base import Instance
from medagentgym.tasks.registry import get_task_class

SCORE_SCHEMA = pa.schema(
    [
        ("task", pa.string()),
        ("tag", pa.string()),
        ("mode", pa.string()),
        ("idx", pa.int64()),
        ("rollout", pa.int64()),
        ("instance_id", pa.string()),
        ("judge", pa.string()),
        ("correct", pa.bool_()),
        ("score", pa.float64()),
        ("reason", pa.string()),
        ("first_attempt_correct", pa.bool_()),
        ("attempts", pa.int64()),
        ("stop_reason", pa.string()),
        ("protocol", pa.string()),
        ("stop_judge", pa.string()),
        ("censored", pa.bool_()),
        ("lower", pa.float64()),
        ("upper", pa.float64()),
        ("judges_agree", pa.bool_()),
        ("steps", pa.int64()),
        ("calls", pa.int64()),
        ("retries", pa.int64()),
        ("prompt_tokens", pa.int64()),
        ("completion_tokens", pa.int64()),
        ("reasoning_tokens", pa.int64()),
        ("cached_tokens", pa.int64()),
        ("cost", pa.float64()),
        ("sandbox_backend", pa.string()),
        ("sandbox_level", pa.string()),
        ("sees_reference", pa.bool_()),
        ("gold_status", pa.string()),
        ("gold_key", pa.string()),
        ("gold_low", pa.float64()),
        ("gold_high", pa.float64()),
        ("impossible", pa.bool_()),
        ("abstained", pa.bool_()),
    ]
)
"""Columns of the score table. Null stands for "not known", everywhere.

`correct`, `score`, `reason`: the judge's verdict on the episode; null where it is unscorable. `first_attempt_correct`: the verdict on its first
attempt, false where it has no attempt. `judges_agree`: whether all judges that could score the episode say the same, null with fewer than two.
`sees_reference`: the agent was given the reference (an audit, no competitor). `gold_status`, `gold_key`, `gold_low`, `gold_high`: see
`medagentgym.judges.references`; the status of an impossible question is `impossible`, and it has no key. `impossible`: the data cannot answer the
question, null where the task knows no such questions. `abstained`: the agent ended the episode by saying so.
"""

EPISODE_COLUMNS = ["task", "tag", "mode", "idx", "rollout", "instance_id", "episode"]
"""What names an episode in the tables that are about single ones; `episode` is its file, below `work_dir`."""
TEXT_COLUMNS = ["question", "answer", "gold"]
"""What was asked, what the last attempt left behind, and what was expected; of texts over `LONGEST_TEXT` characters both ends. Records of patients
may stand in them."""

TIMING_COLUMNS = ["task", "tag", "mode", "idx", "rollout", "steps", "wall_seconds", "cpu_seconds"]

_USAGE = ("calls", "retries", "prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens", "cost")


class ScorableTask(fingerprint.HasInstances, Protocol):
    """The part of `medagentgym.tasks.base.Task` that scoring needs."""

    def instance(self, idx: int) -> Instance:
        """The instance at `idx`."""
        ...

    def reference(self, instance: Instance) -> Any:
        """What the judges compare with."""
        ...

    def is_impossible(self, instance: Instance) -> bool | None:
        """Whether the data cannot answer the question; None where the task knows no such questions."""
        ...

    def judges(self) -> dict[str, Judge]:
        """The judges by name."""
        ...


@dataclass(frozen=True)
class ScoredEpisodes:
    """What scoring gives: one table for the figures, two for people."""

    scores: pd.DataFrame
    """One row an episode and judge (`SCORE_SCHEMA`)."""
    wrong: pd.DataFrame
    """One row an episode that a judge calls wrong: `EPISODE_COLUMNS`, `TEXT_COLUMNS`, then what each judge said (`verdict_columns`)."""
    timings: pd.DataFrame
    """Wall and processor seconds of the code steps of each episode (`TIMING_COLUMNS`); published episodes have none."""


def score_episodes(
    files: Sequence[Path], task: ScorableTask, judges: Sequence[str], *, sees_reference: bool = False, experiment: str | None = None
) -> ScoredEpisodes:
    """Score the episodes in `files` (any order) under each of `judges`. The rows are ordered by `idx`, rollout and the order of `judges`.

    Tag and mode are taken from where a file lies, `<tag>/<mode>/history_<idx>.json`. `experiment` is the fingerprint of the experiment that the
    episodes must be of; None: any. Records are read once, one after the other: memory does not grow with their size. Raises `UserError` for a judge
    that the task does not have, a file that is no episode or belongs to another task, and two files of the same episode.
    """
    available = task.judges()
    for name in judges:
        if name not in available:
            raise UserError(f"scoring.judges: task {task.name} has no judge {name!r}; it has {', '.join(sorted(available))}")
    chosen = [available[name] for name in judges]
    rows: list[dict[str, Any]] = []
    wrong: list[dict[str, Any]] = []
    timings: list[dict[str, Any]] = []
    for path in _in_order(files):
        record = read_record(path)
        if record["task"] not in (None, task.name):
            raise UserError(f"{path}: an episode of task {record['task']}, not of {task.name}; move the file away")
        if (int(record["idx"]), int(record["rollout"])) != _key(path):
            raise UserError(
                f"{path}: holds the episode of idx {record['idx']}, rollout {record['rollout']}; give it back the name that it was made with"
            )
        if experiment is not None:
            fingerprint.check_episode(path, record, experiment, task)
        instance = task.instance(int(record["idx"]))
        reference, impossible = task.reference(instance), task.is_impossible(instance)
        episode = _episode_columns(path, record, task, sees_reference) | _reference_columns(reference, impossible, available.values())
        verdicts = list(_score_episode(record, reference, chosen))
        rows.extend({**episode, **verdict} for verdict in verdicts)
        if any(verdict["correct"] is False for verdict in verdicts):
            texts = zip(TEXT_COLUMNS, (instance.question, answer_of(record), gold_text(reference)), strict=True)
            named = episode | {"episode": "/".join(path.parts[-4:])}
            wrong.append(named | {name: shortened(text, LONGEST_TEXT) for name, text in texts} | verdict_columns(verdicts))
        if record["schema"] != "published":
            timings.append({**episode, **_seconds(record)})
    return ScoredEpisodes(
        pd.DataFrame(rows, columns=SCORE_SCHEMA.names),
        pd.DataFrame(wrong, columns=[*EPISODE_COLUMNS, *TEXT_COLUMNS, *verdict_columns({"judge": name} for name in judges)]),
        pd.DataFrame(timings, columns=TIMING_COLUMNS),
    )


def score_experiment(config: Config, files: Sequence[Path], out: Path) -> None:
    """Score the episodes of one experiment and write `out` (Parquet) with the files beside it.

    The task is opened in `work_dir/data/<task>`. Raises `UserError`, also where the episodes were made with other data or task records than lie there
    now; then nothing is written.
    """
    task = get_task_class(config.task)(data_folder(config), config)
    folder = ExperimentPlan.folder_of(config)
    made_by = fingerprint.read(folder)
    if made_by is not None:
        fingerprint.check_data(folder, made_by, task)
    scored = score_episodes(
        files,
        task,
        config.scoring.judges,
        sees_reference=_agent_sees_reference(config.agent.name),
        experiment=None if made_by is None else made_by["fingerprint"],
    )
    write_scored(scored, out)


def write_scored(scored: ScoredEpisodes, out: Path) -> None:
    """Write the score table `out` (see `write_scores`), and beside it the wrong answers and the timings."""
    write_csv(scored.timings, timings_file(out))
    write_csv(scored.wrong, wrong_file(out))
    write_scores(scored.scores, out)


def write_scores(scores: pd.DataFrame, out: Path) -> None:
    """Write the score table as Parquet and CSV, each whole or not at all. The same table gives the same bytes."""
    columns = [pa.array([_plain(value) for value in scores[field.name]], type=field.type) for field in list(SCORE_SCHEMA)]
    out.parent.mkdir(parents=True, exist_ok=True)
    write_csv(scores, out.with_suffix(".csv"))
    descriptor, temporary = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.", suffix=".partial")
    os.close(descriptor)
    try:
        pq.write_table(pa.Table.from_arrays(columns, schema=SCORE_SCHEMA), temporary, compression="zstd", write_page_checksum=True)
        Path(temporary).replace(out)
    except BaseException:
        Path(temporary).unlink()
        raise


def read_scores(path: Path) -> pd.DataFrame:
    """Read a score table. Raises `UserError` naming the file where it is none."""
    try:
        table = pq.read_table(path, page_checksum_verification=True)
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path}: not a readable score table ({one_line(error)}); delete the file to have it made again") from error
    if table.schema.names != SCORE_SCHEMA.names:
        raise UserError(f"{path}: a score table of another version; delete the file to have it made again")
    return pd.DataFrame(table.to_pydict(), columns=SCORE_SCHEMA.names, dtype=object)


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table by column name."""
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def timings_file(scores_file: Path) -> Path:
    """Where the timings of a score table lie."""
    return scores_file.with_name(f"{scores_file.stem}_timings.csv")


def wrong_file(scores_file: Path) -> Path:
    """Where the episodes of a score table that a judge calls wrong are listed, with question, answer and gold."""
    return scores_file.with_name(f"{scores_file.stem}_wrong.csv")


def verdict_columns(verdicts: Iterable[Mapping[str, Any]], *, reasons: bool = True) -> dict[str, Any]:
    """What each judge said of an episode, by column: `<judge>_verdict` (`correct`, `wrong` or `unscorable`) and `<judge>_reason`."""
    words = {True: "correct", False: "wrong", None: "unscorable"}
    return {
        name: value
        for verdict in verdicts
        for name, value in (
            (f"{verdict['judge']}_verdict", words[verdict.get("correct")]),
            (f"{verdict['judge']}_reason", verdict.get("reason")),
        )
        if reasons or not name.endswith("_reason")
    }


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV, whole or not at all; unknown values are empty cells."""
    write_text(path, table.to_csv(index=False, lineterminator="\n"))


# --- one episode ------------------------------------------------------------------------------------------------------------------------------------


def _in_order(files: Iterable[Path]) -> list[Path]:
    """The files by `idx` and rollout of their names. Raises `UserError` for another name, and for two files of one episode."""
    found: dict[tuple[int, int], Path] = {}
    for path in files:
        key = _key(path)
        if key in found:
            raise UserError(f"{path}: the same episode as {found[key]} (idx {key[0]}, rollout {key[1]}); move one of the two away")
        found[key] = path
    return [found[key] for key in sorted(found)]


def _key(path: Path) -> tuple[int, int]:
    parsed = parse_episode_file(path.name)
    if parsed is None:
        raise UserError(f"{path}: not named like an episode, history_<idx>.json or history_<idx>_<rollout>.json; move the file away")
    return parsed[0], parsed[1] or 0


def _seconds(record: Mapping[str, Any]) -> dict[str, float]:
    return {name: round(sum(step.get(name) or 0.0 for step in record["steps"]), 6) for name in ("wall_seconds", "cpu_seconds")}


def _episode_columns(path: Path, record: Mapping[str, Any], task: ScorableTask, sees_reference: bool) -> dict[str, Any]:
    usage, sandbox = record.get("usage") or {}, record.get("sandbox") or {}
    return {
        "task": task.name,
        "tag": path.parent.parent.name,
        "mode": path.parent.name,
        "idx": int(record["idx"]),
        "rollout": int(record["rollout"]),
        "instance_id": str(record["instance_id"]),
        "stop_reason": record["stop_reason"],
        "protocol": record.get("protocol"),
        "stop_judge": record.get("stop_judge"),
        "steps": len(record["steps"]),
        **{name: usage.get(name) for name in _USAGE},
        "sandbox_backend": sandbox.get("backend"),
        "sandbox_level": sandbox.get("level"),
        "sees_reference": sees_reference,
        "abstained": any(attempt["evidence"].get("abstained", False) for attempt in record["attempts"]),
    }


def _score_episode(record: Mapping[str, Any], reference: Any, judges: Sequence[Judge]) -> Iterator[dict[str, Any]]:
    rows = [_score_under(record, reference, judge) for judge in judges]
    known = {row["correct"] for row in rows if row["correct"] is not None}
    scorable = sum(row["correct"] is not None for row in rows)
    for row in rows:
        yield {**row, "judges_agree": len(known) == 1 if scorable > 1 else None}


def _reference_columns(reference: Any, impossible: bool | None, judges: Iterable[Judge]) -> dict[str, Any]:
    if impossible:
        return {"gold_status": "impossible", "gold_key": None, "gold_low": None, "gold_high": None, "impossible": True}
    for judge in judges:
        if isinstance(judge, SummarisesReferences):
            summary = judge.summarise(reference)
            columns = {"gold_status": summary.status, "gold_key": summary.key, "gold_low": summary.low, "gold_high": summary.high}
            return {**columns, "impossible": impossible}
    return {"gold_status": None, "gold_key": None, "gold_low": None, "gold_high": None, "impossible": impossible}


def _score_under(record: Mapping[str, Any], reference: Any, judge: Judge) -> dict[str, Any]:
    if record["schema"] == "published":
        return _score_published_record(record, judge)
    verdicts = [_verdict(attempt, reference, judge) for attempt in record["attempts"]]
    row: dict[str, Any] = {"judge": judge.name, "attempts": len(verdicts), "censored": False}
    row["first_attempt_correct"] = _first_attempt_correct(record["attempts"], verdicts)
    stopped_by = record.get("stop_judge") if record.get("protocol") == "oracle_stop" else None
    verdict = _deciding_verdict(verdicts, any_attempt=stopped_by is not None, unparsable=record["stop_reason"] == "unparsable")
    if verdict is None:
        return {**row, **_unscorable("the evidence was cut off and holds no verdict of this judge")}
    if stopped_by is not None and record["stop_reason"] == "accepted" and not verdict.correct:
        reason = f"{verdict.reason}; ended by judge {stopped_by}, so what would have followed is unknown"
        return {**row, "correct": False, "score": verdict.score, "reason": reason, "censored": True, "lower": 0.0, "upper": 1.0}
    return {**row, "correct": verdict.correct, "score": verdict.score, "reason": verdict.reason, "lower": verdict.score, "upper": verdict.score}


def _first_attempt_correct(attempts: Sequence[Mapping[str, Any]], verdicts: Sequence[Verdict | None]) -> bool | None:
    """The verdict on the first abstention or execution that left an answer; where there is none, on the first that the stop judge looked at."""
    if not verdicts:
        return False
    first = next((verdict for attempt, verdict in zip(attempts, verdicts, strict=True) if _has_answer(attempt["evidence"])), verdicts[0])
    return None if first is None else first.correct


def _has_answer(evidence: Mapping[str, Any]) -> bool:
    return bool(evidence["has_answer"] or evidence.get("abstained", False))


def _deciding_verdict(verdicts: Sequence[Verdict | None], *, any_attempt: bool, unparsable: bool) -> Verdict | None:
    """The verdict on the episode: on its last attempt, or, under `oracle_stop`, on the first attempt that this judge would have accepted.

    An episode that ended as unparsable never gets to submit its last attempt. None where the verdict hangs on an attempt that cannot be judged.
    """
    if not verdicts:
        return Verdict(False, 0.0, "no attempt")
    if any_attempt:
        accepted = next((verdict for verdict in verdicts if verdict and verdict.correct), None)
        if accepted is not None or None in verdicts:
            return accepted
    return Verdict(False, 0.0, "no readable action") if unparsable else verdicts[-1]


def _verdict(attempt: Mapping[str, Any], reference: Any, judge: Judge) -> Verdict | None:
    """Judge an attempt again. Where its evidence was cut off, the verdict given while it was whole stands; None where there is none."""
    evidence = Evidence.from_json(attempt["evidence"])
    if evidence.complete:
        return judge.judge(reference, evidence)
    stored = (attempt.get("verdicts") or {}).get(judge.name)
    return None if stored is None else Verdict(bool(stored["correct"]), float(stored["score"]), str(stored["reason"]))


def _score_published_record(record: Mapping[str, Any], judge: Judge) -> dict[str, Any]:
    row = {"judge": judge.name, "attempts": None, "first_attempt_correct": None, "censored": False}
    if judge.name != "published":
        return {**row, **_unscorable("an episode of the published system keeps no evidence, only its own result")}
    score = float(record["score"])
    correct = record["result"] == "success"
    return {**row, "correct": correct, "score": score, "reason": "the stored result of the published system", "lower": score, "upper": score}


def _unscorable(reason: str) -> dict[str, Any]:
    return {"correct": None, "score": None, "reason": reason, "lower": None, "upper": None}


def _agent_sees_reference(name: str) -> bool:
    """Whether the agent of that name is given the reference; an agent that is not installed any more is taken for a competitor."""
    try:
        return get_agent_class(name).sees_reference
    except UserError:
        return False


def _plain(value: Any) -> Any:
    return None if value is None or pd.isna(value) else value
