"""An episode in words."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scored_episodes import abstention, attempt, write_episode

from medagentgym.__main__ import main
from medagentgym.configuration import load_config
from medagentgym.errors import UserError
from medagentgym.plan import make_plan
from medagentgym.tasks.registry import get_task_class
from medagentgym.transcript import transcript


def test_a_published_episode_is_shown_with_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "history_4.json"
    path.write_text(json.dumps([{"role": "user", "content": "How many?"}, {"role": "assistant", "content": "Three."}, {"result": "failure"}]))
    assert main(["show", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "instance 4" in shown and "--- assistant ---\nThree." in shown and shown.rstrip().splitlines()[-1].startswith("failure, score 0")


def test_an_episode_is_shown_with_every_attempt_and_why_it_was_wrong(tmp_path: Path) -> None:
    wrong = {"correct": False, "score": 0.0, "reason": "2 where the gold is 1"}
    shown = transcript(write_episode(tmp_path, 0, {**attempt(2), "verdicts": {"strict": wrong}}))
    assert "attempt 1, step 1" in shown and "strict: wrong: 2 where the gold is 1" in shown


def test_what_is_no_episode_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(UserError, match=r"other\.json"):
        transcript(tmp_path / "other.json")


def test_an_abstention_is_shown_as_one_and_a_print_as_no_answer(tmp_path: Path) -> None:
    shown = transcript(write_episode(tmp_path, 0, attempt(None, "5 tables\n", has_answer=False), abstention(1), stop_reason="abstained"))
    assert "no answer: judged by what was printed" in shown and "abstained: the data cannot answer the question" in shown
    assert shown.endswith("the agent said that the data cannot answer the question")


PROGRAM = "import csv\nanswer = 3\n"


@pytest.mark.parametrize("native", [False, True])
def test_a_program_is_shown_with_its_own_lines_and_the_other_parameters_beside_the_action(tmp_path: Path, native: bool) -> None:
    params = {"code": PROGRAM, "error_msg": "KeyError"}
    reply: dict[str, Any] = {"role": "assistant", "content": json.dumps({"action": "debug", "params": params})}
    if native:
        reply |= {"content": "I look.", "tool_calls": [{"function": {"name": "debug", "arguments": json.dumps(params)}}]}
    shown = transcript(write_episode(tmp_path, 0, attempt(2), messages=[reply]))
    assert 'debug({"error_msg": "KeyError"})\n  code:\n    import csv\n    answer = 3\n' in shown and "\\n" not in shown
    assert shown.count("import csv") == 1 and ("calls debug" in shown and "I look." in shown) == native


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"action": "terminal", "params": {"cmd": "ls /data"}}', "terminal\n  cmd:\n    ls /data\n"),
        ('{"action": "submit", "params": {}}', "submit({})\n"),
        ('{"action": "request_info", "params": {"keyterm": "iv"}}', 'request_info({"keyterm": "iv"})\n'),
        ('I think.\n{"action": "submit"}', "I think.\nsubmit({})\n"),
        (
            'So {x}:\n```json\n{"params": {"code": "a = {\\"action\\": 1}\\nb = 2"}, "action": "validate_code"}\n```\nDone.',
            'So {x}:\n```json\nvalidate_code\n  code:\n    a = {"action": 1}\n    b = 2\n```\nDone.\n',
        ),
        ('{"action": "submit", "par', '{"action": "submit", "par\n'),
        ('{"a": ' * 3000, '{"a": ' * 3000 + "\n"),
        ('{"action": "debug", "params": "none"}', '{"action": "debug", "params": "none"}\n'),
        ("[1, 2]", "[1, 2]\n"),
    ],
)
def test_the_actions_of_a_reply_are_shown_by_name_and_all_else_as_it_is(tmp_path: Path, content: str, expected: str) -> None:
    shown = transcript(write_episode(tmp_path, 0, attempt(2), messages=[{"role": "assistant", "content": content}]))
    assert f"--- assistant ---\n{expected}\n" in shown


@pytest.mark.parametrize("arguments", ["{broken", "[1]", ""])
def test_arguments_that_are_no_object_are_shown_as_they_came(tmp_path: Path, arguments: str) -> None:
    reply = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "submit", "arguments": arguments}}]}
    assert f"calls submit({arguments})\n" in transcript(write_episode(tmp_path, 0, attempt(2), messages=[reply]))


@pytest.mark.parametrize(
    ("stop_reason", "end"),
    [
        ("submitted", "ended because the agent submitted"),
        ("out_of_steps", "ended because the agent used all its steps"),
        ("published", "the published system does not say why its episodes end"),
        ("of_another_version", "stop reason of_another_version"),
    ],
)
def test_the_end_of_an_episode_is_not_told_as_the_reason_of_its_result(tmp_path: Path, stop_reason: str, end: str) -> None:
    shown = transcript(write_episode(tmp_path, 0, attempt(2), stop_reason=stop_reason))
    assert shown.splitlines()[-1] == f"failure, score 0; {end}"


def test_attempts_in_a_row_that_left_the_same_and_were_judged_alike_are_told_once(tmp_path: Path) -> None:
    wrong = {"strict": {"correct": False, "score": 0.0, "reason": "no answer"}}
    nothing = [{**attempt(None, "x\n", has_answer=False), "step": step, "verdicts": wrong} for step in range(1, 12)]
    given = [{**attempt(answer), "step": step, "verdicts": wrong} for answer, step in ((5, 0), (6, 12), (7, 13))]
    shown = transcript(write_episode(tmp_path, 0, given[0], *nothing, *given[1:]))
    assert "--- attempts 2 to 12, steps 2 to 12 ---\nno answer: judged by what was printed\n  strict: wrong: no answer\n\n" in shown
    headings = [line for line in shown.splitlines() if line.startswith("--- attempt")]
    assert len(headings) == 4 and headings[-1] == "--- attempt 14, step 14 ---"


def test_a_path_out_of_a_report_is_told_where_it_begins(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["show", "mimic_iii/baseline/test/history_88.json"])
    told = capsys.readouterr().err
    assert "below the run's work_dir" in told and "work_dir/demo/mimic_iii/baseline/test/history_88.json" in told and len(told.splitlines()) == 1


def test_a_reader_that_has_seen_enough_ends_show_in_silence(tmp_path: Path) -> None:
    messages = [{"role": "assistant", "content": "words " * 100_000}]
    path = write_episode(tmp_path, 0, attempt(2), messages=messages)
    shown = subprocess.Popen([sys.executable, "-m", "medagentgym", "show", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert shown.stdout is not None and shown.stderr is not None
    assert shown.stdout.readline().decode().startswith(str(path))
    shown.stdout.close()
    assert shown.stderr.read() == b"" and shown.wait() == 0
    shown.stderr.close()


# --- the heading ------------------------------------------------------------------------------------------------------------------------------------


QUESTION = "A two-sided t test compares two means with effect size 0.5. How many participants does each group need for a power of 80 %?"


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """The folder of an experiment whose data are built and whose plan is written, as a run leaves it."""
    rows = [{"task_type": "a test", "estimate_target": "size", "question": QUESTION, "answer": 64}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = {"task": "npowerai", "work_dir": str(tmp_path / "work"), "agent": {"name": "baseline"}, "result_dir_tag": "rules"}
    config = load_config({**given, "data": {"questions": {"test": str(tmp_path / "rows.jsonl")}}})
    get_task_class("npowerai").build(config, tmp_path / "work" / "data" / "npowerai")
    make_plan(config).write()
    return tmp_path / "work" / "npowerai" / "rules" / "test"


def heading_of(shown: str) -> dict[str, str]:
    """The heading's lines by their names."""
    lines = shown.split("\n\n")[1].splitlines()
    return {name.strip(): value for name, _, value in (line.partition("  ") for line in lines) for value in [value.strip()]}


def test_a_heading_says_first_what_was_asked_answered_and_expected_and_why_it_was_wrong(asked: Path) -> None:
    verdicts = {
        "strict": {"correct": False, "score": 0.0, "reason": "63 where the gold is 64"},
        "published": {"correct": True, "score": 1.0, "reason": "near enough"},
    }
    path = write_episode(asked, 0, {**attempt(63), "verdicts": verdicts}, task="npowerai", agent="baseline")
    shown = transcript(path)
    assert shown.startswith(f"{path}: instance 0, rollout 0\n")
    assert heading_of(shown) == {
        "task": "npowerai, mode test",
        "instance": "0, named question-0",
        "agent": "baseline",
        "question": QUESTION,
        "answer": "63",
        "gold": "64",
        "outcome": "failure, score 0; ended because the agent submitted",
        "judge strict": "wrong: 63 where the gold is 64",
        "judge published": "right: near enough",
        "steps": "2 (validate_code 1, submit 1); 1 attempt",
        "cost": "2 calls, 1,000 tokens in, 50 out; no price is configured",
    }


def test_where_the_data_are_gone_the_heading_says_that_question_and_gold_are_not_known(asked: Path) -> None:
    path = write_episode(asked, 0, attempt(63), task="npowerai")
    shutil.rmtree(asked.parents[2] / "data")
    heading = heading_of(transcript(path))
    assert heading["question"].startswith("(not known") and "the data are not built" in heading["gold"]
    assert heading["answer"] == "63"


def test_an_episode_of_other_data_is_not_given_their_gold(asked: Path) -> None:
    fingerprint = {"schema": "", "fingerprint": "0" * 64, "configuration": {}, "digests": {}}
    path = write_episode(asked, 0, attempt(63), task="npowerai", fingerprint="1" * 64)
    (asked / "configuration.json").write_text(json.dumps(fingerprint))
    assert "was not made with this configuration" in heading_of(transcript(path))["gold"]


def test_the_prompt_is_shortened_unless_it_is_asked_for_in_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompt = "\n".join(f"line {number}." for number in range(100))
    reply = "\n".join(f"thought {number}." for number in range(100))
    messages = [{"role": "system", "content": prompt}, {"role": "user", "content": prompt}, {"role": "assistant", "content": reply}]
    path = str(write_episode(tmp_path, 0, attempt(2), messages=[*messages, {"role": "user", "content": prompt.replace("line", "output")}]))
    assert main(["show", path]) == 0
    shown = capsys.readouterr().out
    assert "line 3." in shown and "line 4." not in shown and "line 91." not in shown and "line 92." in shown
    assert shown.count("[... 88 lines, which --full shows ...]") == 2
    assert "thought 50." in shown and "output 50." in shown
    for arguments in (["show", "--full", path], ["show", path, "--full"]):
        assert main(arguments) == 0
        shown = capsys.readouterr().out
        assert shown.count("line 50.") == 2 and "--full" not in shown


@pytest.mark.parametrize(("arguments", "said"), [([], "expects one"), (["--full"], "expects one"), (["--fool", "a.json"], "expects one")])
def test_show_says_in_one_line_what_it_takes(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["show", *arguments])
    told = capsys.readouterr().err
    assert ended.value.code == 2 and said in told and len(told.splitlines()) == 1


def test_full_is_for_an_episode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["show", "--full", str(tmp_path)])
    assert "--full is for an episode" in capsys.readouterr().err
