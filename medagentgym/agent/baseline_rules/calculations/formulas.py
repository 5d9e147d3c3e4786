"""Which question asks for which formula. The formulas are those that every clinical calculator has; the first whose words stand in it is taken."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Formula:
    """A formula: the words that name it, the facts that it cannot do without, and its lines of Python, which leave `answer`."""

    words: str
    needs: tuple[str, ...]
    code: str
    findings: tuple[str, ...] = ()
    """Findings that count as absent where the note does not speak of them."""


_SALTS = ("sodium", "chloride", "bicarbonate")
_GAP = "sodium - (chloride + bicarbonate)"
_IDEAL = "ideal = (45.5 if is_female else 50) + 2.3 * (height / 2.54 - 60)"

FORMULAS = (
    Formula(
        r"cockcroft|cockroft|creatinine clearance",
        ("is_female", "age", "weight", "height", "creatinine"),
        f"""
index = weight / (height / 100) ** 2
{_IDEAL}
if index >= 25:
    weight = ideal + 0.4 * (weight - ideal)
elif index >= 18.5:
    weight = min(weight, ideal)
answer = (140 - age) * weight * (0.85 if is_female else 1) / (72 * creatinine)
""",
    ),
    Formula(
        r"ckd-epi",
        ("is_female", "age", "creatinine"),
        """
ratio = creatinine / (0.7 if is_female else 0.9)
exponent = -0.241 if is_female else -0.302
answer = 142 * min(ratio, 1) ** exponent * max(ratio, 1) ** -1.2 * 0.9938**age * (1.012 if is_female else 1)
""",
    ),
    Formula(r"mdrd", ("is_female", "age", "creatinine"), "answer = 175 * creatinine**-1.154 * age**-0.203 * (0.742 if is_female else 1)"),
    Formula(r"mean arterial pressure", ("systolic", "diastolic"), "answer = (systolic + 2 * diastolic) / 3"),
    Formula(r"target (?:weight|bmi)|weight in kg gives", ("target_index", "height"), "answer = target_index * (height / 100) ** 2"),
    Formula(r"adjusted body weight", ("is_female", "weight", "height"), f"{_IDEAL}\nanswer = ideal + 0.4 * (weight - ideal)"),
    Formula(r"ideal body weight", ("is_female", "height"), f"{_IDEAL}\nanswer = ideal"),
    Formula(r"body surface area", ("weight", "height"), "answer = math.sqrt(weight * height / 3600)"),
    Formula(r"body mass (?:mass )?index", ("weight", "height"), "answer = weight / (height / 100) ** 2"),
    Formula(r"maintenance fluid", ("weight",), "answer = 4 * min(weight, 10) + 2 * min(max(weight - 10, 0), 10) + max(weight - 20, 0)"),
    Formula(r"bazett", ("qt_interval", "heart_rate"), "answer = qt_interval / math.sqrt(60 / heart_rate)"),
    Formula(r"fridericia", ("qt_interval", "heart_rate"), "answer = qt_interval / (60 / heart_rate) ** (1 / 3)"),
    Formula(r"framingham formula", ("qt_interval", "heart_rate"), "answer = qt_interval + 154 * (1 - 60 / heart_rate)"),
    Formula(r"hodges", ("qt_interval", "heart_rate"), "answer = qt_interval + 1.75 * (heart_rate - 60)"),
    Formula(r"rautaharju", ("qt_interval", "heart_rate"), "answer = qt_interval * (120 + heart_rate) / 180"),
    Formula(
        r"fractional excretion of sodium",
        ("sodium", "creatinine", "urine_sodium", "urine_creatinine"),
        "answer = 100 * urine_sodium * creatinine / (sodium * urine_creatinine)",
    ),
    Formula(
        r"free water deficit",
        ("is_female", "age", "weight", "sodium"),
        """
if age < 18:
    water = 0.6
elif age > 65:
    water = 0.45 if is_female else 0.5
else:
    water = 0.5 if is_female else 0.6
answer = water * weight * (sodium / 140 - 1)
""",
    ),
    Formula(r"osmolality", ("sodium", "urea_nitrogen", "glucose"), "answer = 2 * sodium + urea_nitrogen / 2.8 + glucose / 18"),
    Formula(r"corrected sodium|sodium[^.]*corrected", ("sodium", "glucose"), "answer = sodium + 0.024 * (glucose - 100)"),
    Formula(r"corrected calcium|calcium[^.]*corrected", ("calcium", "albumin"), "answer = calcium + 0.8 * (4 - albumin)"),
    Formula(
        r"albumin[- ]corrected delta ratio",
        (*_SALTS, "albumin"),
        f"answer = ({_GAP} + 2.5 * (4 - albumin) - 12) / (24 - bicarbonate)",
    ),
    Formula(r"albumin[- ]corrected delta gap", (*_SALTS, "albumin"), f"answer = {_GAP} + 2.5 * (4 - albumin) - 12"),
    Formula(r"albumin[- ]corrected anion gap", (*_SALTS, "albumin"), f"answer = {_GAP} + 2.5 * (4 - albumin)"),
    Formula(r"delta ratio", _SALTS, f"answer = ({_GAP} - 12) / (24 - bicarbonate)"),
    Formula(r"delta gap", _SALTS, f"answer = {_GAP} - 12"),
    Formula(r"anion gap", _SALTS, f"answer = {_GAP}"),
    Formula(r"fibrosis-4|fib-4", ("age", "ast", "alt", "platelets"), "answer = age * ast / (platelets * math.sqrt(alt))"),
    Formula(r"\bldl\b", ("total_cholesterol", "hdl", "triglycerides"), "answer = total_cholesterol - hdl - triglycerides / 5"),
    Formula(r"homa-ir", ("glucose", "insulin"), "answer = glucose * insulin / 405"),
    Formula(r"due date", ("last_period", "cycle"), 'answer = f"{last_period + timedelta(days=280 + cycle - 28):%m/%d/%Y}"'),
    Formula(r"date of conception", ("last_period", "cycle"), 'answer = f"{last_period + timedelta(days=cycle - 14):%m/%d/%Y}"'),
    Formula(r"gestational age", ("last_period", "today"), "answer = divmod((today - last_period).days, 7)"),
    Formula(
        r"curb-65",
        ("age", "urea_nitrogen", "respiratory_rate", "systolic", "diastolic"),
        "answer = int(confusion) + (urea_nitrogen > 19) + (respiratory_rate >= 30) + (systolic < 90 or diastolic <= 60) + (age >= 65)",
        findings=("confusion",),
    ),
    Formula(
        r"\bsirs\b",
        ("temperature", "heart_rate", "respiratory_rate", "white_cells"),
        "answer = (not 36 <= temperature <= 38) + (heart_rate > 90) + (respiratory_rate > 20) + (not 4 <= white_cells <= 12)",
    ),
    Formula(
        r"cha2ds2",
        ("is_female", "age"),
        """
points_of_age = 2 if age >= 75 else 1 if age >= 65 else 0
answer = points_of_age + is_female + heart_failure + hypertension + diabetes + 2 * stroke + vascular_disease
""",
        findings=("heart_failure", "hypertension", "diabetes", "stroke", "vascular_disease"),
    ),
    Formula(
        r"centor",
        ("age", "temperature"),
        """
points_of_age = 1 if age < 15 else 0 if age < 45 else -1
answer = points_of_age + (temperature > 38) + (not cough) + exudate + nodes
""",
        findings=("cough", "exudate", "nodes"),
    ),
)


def formula_of(question: str) -> Formula | None:
    """The formula that a question asks for; None where no rule knows it."""
    return next((formula for formula in FORMULAS if re.search(formula.words, question, re.IGNORECASE)), None)
