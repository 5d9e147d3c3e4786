"""The gold answers of the questions on the database that the task builds."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from medagentgym.config import DatasetConfig, SyntheticConfig
from medagentgym.ehr.build import build_ehr
from medagentgym.ehr.gold import Gold, executable_sql, execute
from medagentgym.ehr.mimic_iii import RECIPE
from medagentgym.synthetic.cohort import make_cohort
from medagentgym.synthetic.facts import Facts
from medagentgym.synthetic.tables import raw_tables


@pytest.fixture(scope="module")
def database(made_up, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "mimic_iii"
    build_ehr(RECIPE, DatasetConfig(synthetic=made_up.config), {}, folder)
    return folder / "database" / "mimic_iii.sqlite"


def answerable(made_up) -> list[dict[str, object]]:
    return [question for mode in ("train", "test") for question in made_up.questions(mode) if not question["is_impossible"]]


def rounded(gold: Gold) -> list[tuple[object, ...]]:
    return [tuple(round(value, 6) if isinstance(value, float) else value for value in row) for row in gold.rows]


def test_nearly_every_question_has_an_answer_and_only_a_no_is_zero(made_up, database):
    found: Counter[str] = Counter()
    with closing(sqlite3.connect(database)) as connection:
        for question in answerable(made_up):
            gold = execute(connection, executable_sql(str(question["query"])))
            found[gold.status] += 1
            assert gold.status in ("usable", "zero"), (question["template"], question["query"], gold)
            assert gold.status == "usable" or gold.boolean or "value" in str(question["template"]), (question["template"], gold)
    assert found["usable"] >= 0.9 * sum(found.values())


def test_yes_and_no_are_both_frequent(made_up, database):
    with closing(sqlite3.connect(database)) as connection:
        golds = [execute(connection, executable_sql(str(question["query"]))) for question in answerable(made_up)]
    answers = Counter(gold.rows[0][0] for gold in golds if gold.boolean)
    assert 0.15 < answers[0] / (answers[0] + answers[1]) < 0.6


def test_answers_do_not_depend_on_the_order_of_the_rows(made_up, database):
    rng = random.Random(0)
    with closing(sqlite3.connect(database)) as built, closing(sqlite3.connect(":memory:")) as shuffled:
        for name, sql in built.execute("select name, sql from sqlite_master where type = 'table' and name not like 'sqlite%'").fetchall():
            shuffled.execute(sql)
            rows = built.execute(f'select * from "{name}"').fetchall()
            rng.shuffle(rows)
            shuffled.executemany(f'insert into "{name}" values ({", ".join("?" * len(rows[0]))})', rows)
        for (sql,) in built.execute("select sql from sqlite_master where type = 'index' and sql is not null").fetchall():
            shuffled.execute(sql)
        for question in answerable(made_up):
            query = executable_sql(str(question["query"]))
            assert rounded(execute(built, query)) == rounded(execute(shuffled, query)), (question["template"], query)


def test_questions_are_drawn_from_the_rows_that_the_build_keeps(made_up, database):
    cohort = make_cohort(made_up.config.patients, made_up.config.seed)
    facts = Facts(cohort)
    dropped = 0
    with closing(sqlite3.connect(database)) as connection:
        for name, table in raw_tables(cohort, made_up.config.seed):
            facts.take(name, table)
            if name not in facts.tables():
                continue
            kept = connection.execute(f"select count(*), count( distinct hadm_id ) from {name}").fetchone()
            assert kept == (len(facts.rows(name)), len(set(facts.rows(name).hadm_id.tolist()))), name
            dropped += len(table) - kept[0]
    assert dropped > 1000


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 11])
def test_other_seeds_and_sizes_have_answers_too(tmp_path, seed):
    config = SyntheticConfig(patients=40 if seed else 300, seed=seed, train=200, test=200)
    build_ehr(RECIPE, DatasetConfig(synthetic=config), {}, tmp_path / "built")
    import json

    rows = [json.loads(line) for mode in ("train", "test") for line in (tmp_path / "built" / f"{mode}_tasks.jsonl").read_text().splitlines()]
    statuses = Counter(row["gold"]["status"] for row in rows if not row["is_impossible"])
    assert statuses["usable"] >= 0.9 * sum(statuses.values()), statuses
    assert not statuses["error"] and not statuses["empty"], statuses
