"""The form of every action: its parameters, and how an agent is told about it.

Replies are read (`medagentgym.env.replies`) and prompts written (`medagentgym.prompting`) from this one table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Parameter:
    """One parameter of an action. All parameters are text."""

    name: str
    description: str
    required: bool = True
    is_code: bool = False
    """Whether the text is a Python program, which must arrive to the letter."""
    choices: tuple[str, ...] = ()
    """The texts it may be; empty: any."""
    other_names: tuple[str, ...] = ()
    """What models call it as well."""


@dataclass(frozen=True)
class ActionForm:
    """One action: its name, what it does, its parameters."""

    name: str
    description: str
    parameters: tuple[Parameter, ...] = ()

    @property
    def example(self) -> str:
        """The action as a reply would hold it, for prompts and error messages."""
        parameters = ", ".join(f'"{parameter.name}": "…"' for parameter in self.parameters)
        return f'{{"action": "{self.name}", "params": {{{parameters}}}}}'


ACTION_FORMS: dict[str, ActionForm] = {
    form.name: form
    for form in (
        ActionForm(
            "request_info",
            "look something up in the tables without running code",
            (
                Parameter(
                    "data_path",
                    "the table to look in, by file name; several are separated by commas, without it all are looked at",
                    required=False,
                    other_names=("table", "path", "file", "table_name"),
                ),
                Parameter(
                    "info_type",
                    "column_names (the columns of the table), column_values (frequent values of the column keyterm), "
                    "or term (where the text keyterm, or something close to it, occurs)",
                    choices=("column_names", "column_values", "term"),
                    other_names=("type",),
                ),
                Parameter(
                    "keyterm",
                    "the column or the text that info_type asks about",
                    required=False,
                    other_names=("key_term", "keyword", "column", "term"),
                ),
            ),
        ),
        ActionForm(
            "validate_code",
            "run a Python program and see what it prints and which error it raises; "
            "the value that it leaves in the variable answer is your answer so far",
            (Parameter("code", "the whole program", is_code=True, other_names=("python_code", "python", "source", "script", "program")),),
        ),
        ActionForm(
            "debug",
            "have a second model explain why a program failed",
            (
                Parameter("code", "the program", is_code=True, other_names=("python_code", "python", "source", "script", "program")),
                Parameter("error_msg", "the error that it raised", other_names=("error_message", "error", "message")),
            ),
        ),
        ActionForm(
            "terminal",
            "run a shell command in the working folder",
            (Parameter("cmd", "the command", other_names=("command", "shell", "bash")),),
        ),
        ActionForm("submit", "say that you are done; the answer that your last program left is judged"),
    )
}

ABSTAIN = ActionForm(
    "abstain",
    "say that the data cannot answer the question at all, because nothing of the kind that it asks for is recorded in them; "
    "this is final and is judged. A question that the data can answer with nothing found is no reason to abstain: nothing is an answer, too",
    (Parameter("reason", "why, in a sentence", required=False, other_names=("explanation", "message", "answer")),),
)
"""Known only where it is permitted: elsewhere no prompt and no error message speaks of it."""


def action_form(name: str) -> ActionForm | None:
    """The form of an action, None where it is in no table (an action of one task alone)."""
    return ABSTAIN if name == ABSTAIN.name else ACTION_FORMS.get(name)


def action_forms(permitted: Sequence[str]) -> list[ActionForm]:
    """The forms of the permitted actions, in their order. An action that is not in the table has no described parameters."""
    return [action_form(name) or ActionForm(name, "an action of this task") for name in permitted]
