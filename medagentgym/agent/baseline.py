"""The rule-based agent: a floor for agents with a language model.

It sees what a model sees. It reads the question with rules of English (`medagentgym.agent.baseline_rules`), looks the terms of the question up with
`request_info`, writes a query into a Python program, runs it with `validate_code`, tries its next reading where that fails or finds nothing, and
submits. The same prompt makes it act the same way.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from itertools import islice, product

from medagentgym.agent.base import EpisodeStart, Message
from medagentgym.agent.baseline_rules import eicu_schema
from medagentgym.agent.baseline_rules.asked import Query, queries
from medagentgym.agent.baseline_rules.by_task import PROGRAM_RULES
from medagentgym.agent.baseline_rules.query_parts import Reading
from medagentgym.agent.baseline_rules.question import Question, read_question
from medagentgym.agent.baseline_rules.schema import MIMIC_III, Schema
from medagentgym.agent.baseline_rules.sequences import last_question
from medagentgym.agent.baseline_rules.terms import Name, lookups, names_in, names_without_lookup, unknown_names
from medagentgym.agent.baseline_rules.treqs import answering as treqs
from medagentgym.agent.conversation import ConversationAgent, Reply
from medagentgym.env.replies import as_reply

NAMES_TRIED = 3
"""Names of the tables that are tried for a term."""
PROGRAMS_TRIED = 4
"""Programs that are run at most."""

Plan = Generator[str, str, None]
"""Gives replies, is sent the observations."""


class BaselineAgent(ConversationAgent):
    """Agent `baseline`: answers by rules. From what it cannot read it abstains where that is permitted; elsewhere it answers with None."""

    name = "baseline"
    code_modules = ("medagentgym.agent.baseline_rules", "medagentgym.power_analysis")

    def reset(self, start: EpisodeStart) -> None:
        """Begin an episode: forget the last one."""
        super().reset(start)
        self._plan = self._episode()

    def reply(self, messages: Sequence[Message]) -> Reply:
        """The next action, as a model would write it, after the observation that stands last in the conversation."""
        return Reply(self._plan.send(str(messages[-1]["content"])) if self._replies else next(self._plan))

    def _episode(self) -> Plan:
        """Answer, then submit; where nothing is to be submitted, stay with the answer."""
        fields = self.start.fields
        rules = PROGRAM_RULES.get(self.start.task)
        if rules is not None:
            last = yield from self._run(rules(fields))
        else:
            last = yield from self._answer(fields.get("question", ""), fields.get("now", ""), fields.get("database", ""))
        while True:
            yield as_reply("submit") if "submit" in self.permitted_actions else last

    def _run(self, code: str | None) -> Generator[str, str, str]:
        """Run the one program that rules wrote, or do as with every question that cannot be read. Gives the reply that left the answer."""
        answered = as_reply("validate_code", {"code": code}) if code is not None else self._without_reading()
        yield answered
        return answered

    def _without_reading(self) -> str:
        """The reply to a question that cannot be read."""
        return as_reply("abstain") if "abstain" in self.permitted_actions else as_reply("validate_code", {"code": "answer = None\n"})

    def _answer(self, text: str, now: str, database: str) -> Generator[str, str, str]:
        """Look terms up, and run the programs of one reading after another until one finds something. Gives the reply that left the last answer."""
        answered, is_read = None, False
        if text and database and treqs.fits(self.start.fields.get("tables", "")):
            query = yield from treqs.readings(text, database, self.permitted_actions)
            answered = as_reply("validate_code", {"code": program(query, database)})
            yield answered
            return answered
        if text and now and database:
            question = read_question(last_question(text), now)
            schema = eicu_schema.EICU if eicu_schema.fits(self.start.fields.get("tables", "")) else MIMIC_III
            offers = yield from self._look_up(question, schema)
            for query in islice(_readings(question, offers, schema), PROGRAMS_TRIED):
                is_read = True
                reply = as_reply("validate_code", {"code": program(query, database)})
                observation = yield reply
                answered = reply if has_answer(observation) else answered
                if finds_something(observation):
                    break
        if answered is None:
            abstains = not is_read and "abstain" in self.permitted_actions
            answered = as_reply("abstain") if abstains else as_reply("validate_code", {"code": "answer = None\n"})
            yield answered
        return answered

    def _look_up(self, question: Question, schema: Schema) -> Generator[str, str, list[list[Name]]]:
        """The names that the tables have for each term of a question."""
        offers = []
        for term in question.terms:
            names = names_without_lookup(term, schema)
            if not names and "request_info" in self.permitted_actions:
                for lookup in lookups(term, schema):
                    observation = yield as_reply("request_info", lookup.params())
                    names = names_in(observation, term, schema)
                    if names:
                        break
            offers.append(names[:NAMES_TRIED] or unknown_names(term, schema))
        return offers


def _readings(question: Question, offers: Sequence[Sequence[Name]], schema: Schema) -> Iterator[Query]:
    """The queries of all readings, each once: first with the likeliest names."""
    seen = set()
    for names in product(*offers):
        for query in queries(Reading(question, names, schema)):
            if query.sql not in seen:
                seen.add(query.sql)
                yield query


_ANSWERS = {
    "value": "answer = rows[0][0] if rows else None",
    "truth": "answer = bool(rows[0][0]) if rows and rows[0][0] is not None else None",
    "list": "answer = [list(row) for row in rows]",
}


def program(query: Query, database: str) -> str:
    """The Python program that runs a query on the database and leaves its answer."""
    plain = not any(mark in query.sql for mark in ('"', "\\"))
    sql = f'"""\n{query.sql}\n"""' if plain else repr(query.sql)
    return "\n".join(
        [
            "import sqlite3",
            "",
            f"# {query.rule}",
            f"sql = {sql}",
            f'connection = sqlite3.connect("file:{database}?mode=ro&immutable=1", uri=True)',
            "rows = connection.execute(sql).fetchall()",
            'print(len(rows), "rows, the first:", rows[:3])',
            _ANSWERS[query.shape],
            "",
        ]
    )


def has_answer(observation: str) -> bool:
    """Whether a program ran to its end and left an answer."""
    return observation.startswith("The code ran to its end.") and "\nanswer:\n" in observation


def finds_something(observation: str) -> bool:
    """Whether the answer of a program is something else than nothing."""
    return has_answer(observation) and observation.rpartition("\nanswer:\n")[2].strip() not in ("null", "[]")
