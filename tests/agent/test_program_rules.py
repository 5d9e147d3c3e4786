"""The baseline's rules that write one program: clinical calculations and sample sizes."""

from __future__ import annotations

import json
import subprocess
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from medagentgym import environments
from medagentgym.agent.base import EpisodeStart
from medagentgym.agent.baseline import BaselineAgent
from medagentgym.agent.baseline_rules import calculations, sample_sizes
from medagentgym.agent.baseline_rules.calculations.formulas import formula_of
from medagentgym.agent.baseline_rules.calculations.reading import read_note
from medagentgym.config import AgentConfig
from medagentgym.judges.base import Evidence
from medagentgym.judges.calculations import CalculationJudge, read_gold
from medagentgym.sandbox.answers import decode, encode
from medagentgym.synthetic.calculations import make_rows
from medagentgym.synthetic.studies import make_rows as make_studies


def fields(note: str, question: str) -> dict[str, str]:
    return {"question": f"Patient note:\n\n{note}\n\nQuestion: {question}"}


def answer_of(program: str | None) -> Any:
    assert program is not None
    variables: dict[str, Any] = {}
    exec(program, variables)
    return variables["answer"]


# --- reading notes --------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("note", "name", "value"),
    [
        ("Serum sodium was 138 mEq/L.", "sodium", 138),
        ("Na 131 mmol/L, K 4.1 mmol/L", "sodium", 131),
        ("Urinary sodium: 40 mEq/L. Sodium, 129 mmol/L.", "sodium", 129),
        ("Urinary sodium: 40 mEq/L. Sodium, 129 mmol/L.", "urine_sodium", 40),
        ("creatinine of 97 µmol/L", "creatinine", 1.097037),
        ("blood urea nitrogen (BUN), 34.4 mg/dL; and creatinine, 1.4 mg/dL", "creatinine", 1.4),
        ("blood urea nitrogen (BUN), 34.4 mg/dL; and creatinine, 1.4 mg/dL", "urea_nitrogen", 34.4),
        ("albumin 31 g/L", "albumin", 3.1),
        ("a platelet count of 165,000/µL", "platelets", 165),
        ("platelets 106 \u00d7 10^9/L", "platelets", 106),
        ("total cholesterol 4.75 mmol/L", "total_cholesterol", 183.6825),
        ("heart rate, 75/min; respiratory rate, 22/min", "heart_rate", 75),
        ("heart rate, 75/min; respiratory rate, 22/min", "respiratory_rate", 22),
        ("a body temperature of 38.1 °C", "temperature", 38.1),
        ("temperature 100.4 °F", "temperature", 38),
        ("height, 163 cm; weight, 48 kg", "height", 163),
        ("height, 163 cm; weight, 48 kg", "weight", 48),
        ("She is 1.63 m tall and weighs 154 lb.", "height", 163),
        ("He is 5 ft 7 in tall.", "height", 170.18),
        ("An 87-year-old man", "age", 87),
        ("A 14-month-old girl", "age", 1),
        ("An 87-year-old man", "is_female", False),
        ("A 14-month-old girl", "is_female", True),
        ("blood pressure of 128/70 mmHg", "diastolic", 70),
        ("BP: 66/40", "systolic", 66),
        ("There is no history of stroke or diabetes. He has hypertension.", "stroke", False),
        ("There is no history of stroke or diabetes. He has hypertension.", "hypertension", True),
        ("Her last menstrual period began on March 31, 2006.", "last_period", date(2006, 3, 31)),
        ("LMP 03/31/2006, with a 26-day cycle.", "cycle", 26),
        ("Today is 05/23/2024. Her last menstrual period was on 02/14/2024.", "today", date(2024, 5, 23)),
    ],
)
def test_a_fact_is_read_out_of_a_note(note: str, name: str, value: Any) -> None:
    found = read_note(note)
    assert found[name] == (pytest.approx(value, rel=1e-4) if isinstance(value, int | float) else value)


def test_what_a_note_does_not_say_is_not_there() -> None:
    assert read_note("The patient feels well.") == {}
    assert "sodium" not in read_note("Sodium was low.") and "sodium" not in read_note("Sodium 3 mEq/L.")


@pytest.mark.parametrize(
    ("question", "needs"),
    [
        ("What is the patient's albumin corrected delta ratio?", ("sodium", "chloride", "bicarbonate", "albumin")),
        ("What is the patient's delta ratio?", ("sodium", "chloride", "bicarbonate")),
        ("Using the adjusted body weight formula, what is the adjusted body weight?", ("is_female", "weight", "height")),
        (
            "Creatinine clearance by the Cockcroft-Gault equation, with adjusted weight by BMI?",
            ("is_female", "age", "weight", "height", "creatinine"),
        ),
    ],
)
def test_the_most_special_formula_is_taken(question: str, needs: tuple[str, ...]) -> None:
    formula = formula_of(question)
    assert formula is not None and formula.needs == needs


def test_a_program_is_written_only_where_the_note_gives_what_it_needs() -> None:
    question = "What is the patient's anion gap?"
    assert answer_of(calculations.program(fields("Sodium 140, chloride 100 and bicarbonate 20 mEq/L.", question))) == 20
    assert calculations.program(fields("Sodium 140 and chloride 100 mEq/L.", question)) is None
    assert calculations.program(fields("Sodium 140, chloride 100 and bicarbonate 20 mEq/L.", "What is the patient's MELD score?")) is None
    assert calculations.program({"question": "What is the anion gap?"}) is None


def test_the_rules_solve_every_made_up_calculation() -> None:
    judge = CalculationJudge()
    for row in make_rows(11, "test", 132):
        answer = answer_of(calculations.program(fields(row["Patient Note"], row["Question"])))
        gold = read_gold(row["Ground Truth Answer"], row["Lower Limit"], row["Upper Limit"])
        verdict = judge.judge(gold, Evidence(True, decode(encode(answer, 10_000)), "", "", 0))
        assert verdict.correct, (row, verdict.reason)


@pytest.mark.shared_data
def test_the_rules_solve_a_third_of_the_real_calculations_or_more(shared_data: Path) -> None:
    judge = CalculationJudge()
    rows = [json.loads(line) for line in (shared_data / "medcalcbench" / "test_tasks.jsonl").read_text().splitlines()]
    solved = 0
    for row in rows:
        program = calculations.program(fields(row["Patient Note"], row["Question"]))
        if program is not None:
            gold = read_gold(row["Ground Truth Answer"], row["Lower Limit"], row["Upper Limit"])
            solved += judge.judge(gold, Evidence(True, decode(encode(answer_of(program), 10_000)), "", "", 0)).correct
    assert solved > len(rows) / 3


# --- sample sizes ---------------------------------------------------------------------------------------------------------------------------------


def test_a_question_without_a_design_has_no_program() -> None:
    assert sample_sizes.program({"question": "How old is the patient?"}) is None


@pytest.mark.slow
def test_statsmodels_gives_the_golds_of_made_up_studies(tmp_path: Path) -> None:
    if not environments.is_built("statistics"):
        pytest.skip("the environment statistics is not built: medagentgym environments build statistics")
    rows = make_studies(5, "test", 48)
    programs = [sample_sizes.program({"question": row["question"]}) for row in rows]
    (tmp_path / "programs.json").write_text(json.dumps(programs))
    runner = "import json, sys\nfor code in json.load(open(sys.argv[1])):\n    space = {}\n    exec(code, space)\n    print(space['answer'])\n"
    python = environments.environment_folder("statistics") / "bin" / "python"
    done = subprocess.run([python, "-c", runner, str(tmp_path / "programs.json")], capture_output=True, text=True, check=True)
    answers = [float(line) for line in done.stdout.split()]
    for row, answer in zip(rows, answers, strict=True):
        assert answer == pytest.approx(row["answer"], rel=1e-6), row


# --- the agent ------------------------------------------------------------------------------------------------------------------------------------


def begun(task: str, question: str, permitted: tuple[str, ...] = ("validate_code", "submit")) -> BaselineAgent:
    agent = BaselineAgent(AgentConfig(name="baseline"), permitted)
    prompt = [{"role": "user", "content": question}]
    agent.reset(EpisodeStart(task, 0, 0, 0, permitted, prompt, {"question": question}))
    return agent


def test_the_agent_runs_its_program_and_submits() -> None:
    agent = begun("medcalcbench", **fields("Sodium 140, chloride 100 and bicarbonate 20 mEq/L.", "What is the patient's anion gap?"))
    action, params = agent.act(None)
    assert action == "validate_code" and answer_of(params["code"]) == 20
    assert agent.act("The code ran to its end.\nanswer:\n20")[0] == "submit"


def test_the_agent_answers_none_where_it_can_read_nothing() -> None:
    action, params = begun("npowerai", "How old is the patient?").act(None)
    assert action == "validate_code" and answer_of(params["code"]) is None
