"""Questions about costs: of an event, of a patient, of visits."""

from __future__ import annotations

from medagentgym.agent.baseline_rules import phrases
from medagentgym.agent.baseline_rules.asked.rules import RuleBook
from medagentgym.agent.baseline_rules.asked.subject import main_rows
from medagentgym.agent.baseline_rules.query_parts import Reading, constant, named_rows, quoted

RULES = RuleBook()


def _charged_in_time(reading: Reading) -> list[str]:
    return [condition for window in reading.question.windows for condition in window.conditions("cost.CHARGETIME")]


def _costs(columns: str, conditions: list[str]) -> str:
    return f"SELECT {columns}\nFROM COST AS cost\nWHERE " + "\n  AND ".join(conditions)


@RULES.rule(r"\b(?:average|mean|maximum|minimum|highest|lowest)\b.* cost")
def cost_of_visits(reading: Reading) -> str | None:
    """A function of the total costs of the visits on which something happened."""
    function = phrases.aggregate(reading.question.skeleton)
    if function is None or not reading.names:
        return None
    visits = named_rows(reading.names[0].kind, reading.names).select("event.HADM_ID")
    total = _costs("SUM(cost.COST) AS total", [f"cost.HADM_ID IN (\n{visits}\n)", *_charged_in_time(reading)])
    return f"SELECT {function}(total) FROM (\n{total}\nGROUP BY cost.HADM_ID\n)"


@RULES.rule(r"\bcosts?\b|\bcharged?\b")
def cost_of_a_patient(reading: Reading) -> str | None:
    """The sum of a patient's costs, or of those of one kind."""
    question = reading.question
    if question.patient is None:
        return None
    conditions = [f"cost.SUBJECT_ID = {constant(question.patient)}"]
    if question.visit is not None:
        column, query = reading.chosen_visit(question.visit)
        conditions.append(f"cost.{column} IN ({query})")
    kind = reading.kind_in(question.main.text)
    if kind is not None and kind.charged_as is not None:
        conditions.append(f"cost.EVENT_TYPE = {quoted(kind.charged_as)}")
    return _costs("SUM(cost.COST)", [*conditions, *_charged_in_time(reading)])


@RULES.rule(r"\bcosts?\b|\bprice\b", "list")
def cost_of_an_event(reading: Reading) -> str | None:
    """What one such event costs."""
    rows = main_rows(reading)
    if rows is None or rows.kind.charged_as is None:
        return None
    events = rows.select("event.ROW_ID")
    return _costs("DISTINCT cost.COST", [f"cost.EVENT_TYPE = {quoted(rows.kind.charged_as)}", f"cost.EVENT_ID IN (\n{events}\n)"])
