"""The baseline agent in whole episodes: real data, real lookups, real programs, the strict judge."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import medagentgym.agent.baseline
import medagentgym.agent.baseline_rules
from medagentgym.agent.base import Action, EpisodeStart
from medagentgym.agent.baseline import BaselineAgent
from medagentgym.config import AgentConfig, Config
from medagentgym.episode import Experiment, run_episode
from medagentgym.plan import data_folder
from medagentgym.record import EpisodeKey
from medagentgym.tasks.mimic_iii import MimicIII
from medagentgym.worker import open_experiment

QUESTIONS = 60
FAILED = "The code failed with exit status 1.\nstderr:\nsqlite3.OperationalError: no such column: event.VALUENUM"
FOUND = 'Equal to "sodium":\nD_LABITEMS.csv, column LABEL: sodium (1 row)\nD_ITEMS.csv, column LABEL: sodium (1 row)'


def answered(value: str) -> str:
    return f"The code ran to its end.\nstdout:\n1 rows\nanswer:\n{value}"


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Experiment]:
    config = Config.model_validate(
        {
            "work_dir": tmp_path_factory.mktemp("work"),
            "mode": "train",
            "agent": {"name": "baseline"},
            "result_dir_tag": "baseline",
            "data": {"synthetic": {"patients": 60, "seed": 5, "train": QUESTIONS, "test": 1}, "impossible": "include"},
        }
    )
    data_folder(config).parent.mkdir(parents=True)
    MimicIII.build(config, data_folder(config))
    with open_experiment(config) as opened:
        yield opened


@pytest.fixture(scope="module")
def records(experiment: Experiment) -> list[dict[str, Any]]:
    return [run_episode(experiment, EpisodeKey(idx)) for idx in range(QUESTIONS)]


def row_of(experiment: Experiment, record: dict[str, Any]) -> dict[str, Any]:
    return dict(experiment.task.instance(record["idx"]).record)


def programs(record: dict[str, Any]) -> list[str]:
    return [step["params"]["code"] for step in record["steps"] if step["action"] == "validate_code"]


def begun(question: str, permitted: tuple[str, ...] = ("request_info", "validate_code", "submit"), **fields: str) -> BaselineAgent:
    agent = BaselineAgent(AgentConfig(name="baseline"), permitted)
    told = {"question": question, "now": "2105-12-31 23:59:00", "database": "/data/mimic_iii.sqlite", **fields}
    agent.reset(EpisodeStart("mimic_iii", 0, 0, 0, permitted, [{"role": "user", "content": question}], told))
    return agent


def code_of(action: Action) -> str:
    assert action[0] == "validate_code"
    return str(action[1]["code"])


def test_it_answers_a_good_share_of_the_answerable_questions_and_ends_every_episode(experiment: Experiment, records: list[dict[str, Any]]) -> None:
    answerable = [record for record in records if not row_of(experiment, record)["is_impossible"]]
    assert sum(record["result"] == "success" for record in answerable) > 0.4 * len(answerable)
    assert {record["stop_reason"] for record in records} == {"submitted", "abstained"}
    assert max(len(record["steps"]) for record in records) <= 12


def test_it_abstains_from_most_impossible_questions_and_from_few_others(experiment: Experiment, records: list[dict[str, Any]]) -> None:
    abstained = {True: 0, False: 0}
    asked = {True: 0, False: 0}
    for record in records:
        impossible = row_of(experiment, record)["is_impossible"]
        asked[impossible] += 1
        abstained[impossible] += record["stop_reason"] == "abstained"
        assert record["result"] == "failure" or (record["stop_reason"] == "abstained") == impossible
    assert asked == {True: QUESTIONS // 10, False: QUESTIONS - QUESTIONS // 10}
    assert abstained[True] > 0.5 * asked[True] and abstained[False] < 0.1 * asked[False]


def test_its_programs_hold_queries_and_no_answers(experiment: Experiment, records: list[dict[str, Any]]) -> None:
    """Every answer comes out of the database: no program holds a value of the gold that the question does not hold itself."""
    compared = 0
    for record in records:
        row = row_of(experiment, record)
        question = (row["question"] if row["is_impossible"] else row["template"]).lower()
        for code in programs(record):
            assigned = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "answer"]
            assert len(assigned) == 1
            assert code == "answer = None\n" or "rows" in {node.id for node in ast.walk(assigned[0]) if isinstance(node, ast.Name)}
            for cell in (str(cell).lower() for gold in row["gold"]["rows"] for cell in gold if not row["gold"]["boolean"]):
                if len(cell) > 2 and cell not in question:
                    compared += 1
                    assert not re.search(rf"(?<![\w.]){re.escape(cell)}(?![\w.])", code.lower().replace("* 100.0 /", "")), (cell, code)
    assert compared > 50


def test_it_looks_terms_up_before_it_uses_them(records: list[dict[str, Any]]) -> None:
    looked_up = [record for record in records if record["steps"][0]["action"] == "request_info"]
    assert len(looked_up) > 0.3 * len(records)
    assert all(record["usage"]["calls"] == 0 for record in records)


def test_the_same_prompt_makes_it_act_the_same_way(experiment: Experiment, records: list[dict[str, Any]]) -> None:
    for record in records[:5]:
        assert run_episode(experiment, EpisodeKey(record["idx"]))["messages"] == record["messages"]


def test_an_error_and_an_empty_answer_make_it_try_another_reading() -> None:
    agent = begun("What was the average sodium value of patient 5?")
    assert agent.act(None) == ("request_info", {"data_path": "D_LABITEMS.csv,D_ITEMS.csv", "info_type": "term", "keyterm": "sodium"})
    tried = [code_of(agent.act(FOUND)), code_of(agent.act(FAILED)), code_of(agent.act(answered("null")))]
    assert len(set(tried)) == 3
    assert ("LABEVENTS" in tried[0], "CHARTEVENTS" in tried[2]) == (True, True)
    assert agent.act(answered("140.5")) == ("submit", {})


def test_where_every_program_fails_it_says_that_there_is_no_answer() -> None:
    agent = begun("What is the date of birth of patient 5?")
    code_of(agent.act(None))
    assert code_of(agent.act(FAILED)) == "answer = None\n"
    assert agent.act(answered("null")) == ("submit", {})


@pytest.mark.parametrize("question", ["", "Why is the sky blue?", "(((", "patient", "What will become of patient 5?", "list |t0| <7> of patient 5"])
def test_what_it_cannot_read_it_answers_with_none(question: str) -> None:
    agent = begun(question)
    action = agent.act(None)
    while action[0] == "request_info":
        action = agent.act("Nothing like it was found.")
    assert code_of(action) == "answer = None\n"
    assert agent.act(answered("null"))[0] == "submit"


@pytest.mark.parametrize("question", ["Why is the sky blue?", "What will become of patient 5?"])
def test_from_what_it_cannot_read_it_abstains_where_it_may(question: str) -> None:
    agent = begun(question, ("request_info", "validate_code", "abstain", "submit"))
    action = agent.act(None)
    while action[0] == "request_info":
        action = agent.act("Nothing like it was found.")
    assert action == ("abstain", {})


def test_it_does_not_abstain_from_what_it_can_read_but_not_answer() -> None:
    agent = begun("What is the date of birth of patient 5?", ("request_info", "validate_code", "abstain", "submit"))
    code_of(agent.act(None))
    assert code_of(agent.act(FAILED)) == "answer = None\n"


def test_without_a_database_it_answers_with_none() -> None:
    assert code_of(begun("What is the gender of patient 5?", database="").act(None)) == "answer = None\n"


def test_where_nothing_is_submitted_it_stays_with_its_answer() -> None:
    agent = begun("What is the gender of patient 5?", ("request_info", "validate_code"))
    first = agent.act(None)
    assert "GENDER" in code_of(first)
    assert agent.act(answered('"m"')) == first


def test_it_replies_as_a_model_would() -> None:
    agent = begun("What is the gender of patient 5?")
    agent.act(None)
    assert json.loads(agent.messages[-1]["content"])["action"] == "validate_code"


def test_it_knows_nothing_of_the_generator_of_questions_or_of_golds() -> None:
    """Neither an import statement in its modules, nor anything that they load."""
    folder = Path(medagentgym.agent.baseline_rules.__file__).parent
    imported = set()
    for path in [Path(medagentgym.agent.baseline.__file__), *folder.rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            imported |= {alias.name for alias in node.names} if isinstance(node, ast.Import) else set()
            imported |= {node.module or ""} if isinstance(node, ast.ImportFrom) else set()
    own = {name for name in imported if name.startswith("medagentgym")}
    assert all(name.startswith(("medagentgym.agent.", "medagentgym.env.replies", "medagentgym.power_analysis")) for name in own), own
    loaded = "import sys, medagentgym.agent.baseline; print([name for name in sys.modules if name.startswith('medagentgym.')])"
    names = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout
    assert "medagentgym.agent.baseline_rules.asked" in names
    assert not re.search(r"medagentgym\.(?:synthetic|tasks\.mimic_iii|judges\.row_sets|judges\.published|ehr)\b", names)
