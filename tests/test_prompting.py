"""Prompts: what they say, how they are replaced, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medagentgym.config import Config, PromptConfig
from medagentgym.errors import UserError
from medagentgym.prompting import check_few_shot, prompt_digest, render_debug_prompt, render_prompt

FIELDS = {
    "question": "How many patients {{ were }} admitted {% this year %}?",
    "now": "2105-12-31 23:59:00",
    "tables": "ADMISSIONS (ROW_ID, SUBJECT_ID)\n  1, 10",
    "answer_form": "A list of rows.",
    "data_folder": "/data",
    "database": "/data/mimic_iii.sqlite",
}
EHR_ACTIONS = ("request_info", "validate_code", "debug", "submit")
EXAMPLE = {
    "instance_id": "train-1",
    "messages": [{"role": "user", "content": "How many  Beds are there?"}, {"role": "assistant", "content": '{"action": "submit", "params": {}}'}],
}


def system_and_user(config: Config, permitted: tuple[str, ...] = EHR_ACTIONS, fields: dict[str, str] = FIELDS) -> tuple[str, str]:
    messages = render_prompt(config, fields, permitted)
    assert [message["role"] for message in messages] == ["system", "user"]
    return messages[0]["content"], messages[1]["content"]


def with_template(tmp_path: Path, text: str, kind: str = "user") -> Config:
    file = tmp_path / f"{kind}.jinja"
    file.write_text(text, encoding="utf-8")
    return Config(prompts=PromptConfig(**{kind: file}))


def with_examples(tmp_path: Path, *examples: Any) -> Config:
    file = tmp_path / "few_shot.jsonl"
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in examples) + "\n", encoding="utf-8")
    return Config(prompts=PromptConfig(few_shot=file))


def test_the_prompt_states_question_now_tables_data_and_form_to_the_letter() -> None:
    _, user = system_and_user(Config())
    for value in FIELDS.values():
        assert value in user


def test_a_permitted_abstention_is_told_from_an_empty_result() -> None:
    system, _ = system_and_user(Config(), (*EHR_ACTIONS, "abstain"))
    assert "say that the data cannot answer the question at all" in system and "nothing is an answer, too" in system
    assert "abstain" not in system_and_user(Config(), EHR_ACTIONS)[0]


def test_the_prompt_names_the_permitted_actions_with_their_parameters_and_no_other() -> None:
    system, _ = system_and_user(Config(num_steps=7), EHR_ACTIONS)
    for action in EHR_ACTIONS:
        assert f'{{"action": "{action}"' in system
    for parameter in ("data_path", "info_type", "keyterm", "code", "error_msg"):
        assert f"`{parameter}`" in system
    assert "terminal" not in system
    assert "7 steps" in system
    assert "terminal" in system_and_user(Config(), (*EHR_ACTIONS, "terminal"))[0]


def test_each_protocol_has_its_rules() -> None:
    submit, _ = system_and_user(Config(protocol="submit"))
    stop, _ = system_and_user(Config(protocol="oracle_stop"), EHR_ACTIONS[:3])
    told, _ = system_and_user(Config(protocol="oracle_stop", tell_verdict=True), EHR_ACTIONS[:3])
    assert "use `submit`" in submit and "accepted" not in submit
    assert "submit" not in stop and "ends when an attempt is accepted" in stop
    assert "told when an attempt was wrong" in told and "told when" not in stop


def test_a_task_without_now_and_tables_has_a_prompt_too() -> None:
    _, user = system_and_user(Config(), fields={"question": "2 + 2?", "answer_form": "A number.", "now": "", "tables": ""})
    assert user.startswith("# Question")


def test_an_action_that_only_the_task_knows_is_named() -> None:
    assert "order_test" in system_and_user(Config(), ("order_test",))[0]


def test_a_template_is_replaced_by_configuration(tmp_path: Path) -> None:
    config = with_template(tmp_path, "\ufeffQ: {{ question }}{% if protocol == 'submit' %} (at most {{ num_steps }}){% endif %}\n")
    assert system_and_user(config)[1] == f"Q: {FIELDS['question']} (at most 30)"


@pytest.mark.parametrize(
    ("template", "line", "message"),
    [
        ("a\n{{ quesiton }}", 2, "'quesiton' is undefined; there are: actions, answer_form"),
        ("a\n\n{% if x %}", 3, "Unexpected end of template"),
        ("{{ question", 1, "unexpected end"),
        ("a\n{{ question | nofilter }}", 2, "No filter named"),
        ("a\n{{ 1 / 0 }}", 2, "ZeroDivisionError"),
        ("a\n{{ question.__class__.__mro__ }}", 2, "unsafe"),
        ("a\n{{ actions.append(1) }}", 2, "is unsafe"),
        ("a\n{% for i in range(100000000) %}x{% endfor %}", 2, "Range too big"),
        ("a\n{% include 'other' %}", 2, "cannot include another file"),
    ],
)
def test_a_mistake_in_a_template_is_one_line_with_file_and_line(template: str, line: int, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        system_and_user(with_template(tmp_path, template))
    text = str(caught.value)
    assert text.startswith(f"{tmp_path / 'user.jinja'}:{line}: "), text
    assert message in text
    assert "\n" not in text


def test_a_template_that_is_missing_or_no_text_is_named_with_its_key(tmp_path: Path) -> None:
    config = Config(prompts=PromptConfig(system=tmp_path / "absent.jinja"))
    with pytest.raises(UserError, match=r"absent\.jinja: cannot be read .*prompts\.system"):
        system_and_user(config)
    (tmp_path / "latin.jinja").write_bytes("Größe".encode("latin-1"))
    with pytest.raises(UserError, match=r"latin\.jinja: not UTF-8"):
        prompt_digest(Config(prompts=PromptConfig(user=tmp_path / "latin.jinja")))


def test_examples_stand_between_system_and_user_message(tmp_path: Path) -> None:
    messages = render_prompt(with_examples(tmp_path, EXAMPLE, "", EXAMPLE), FIELDS, EHR_ACTIONS)
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert messages[1:3] == EXAMPLE["messages"]
    messages[1]["content"] = "changed"
    assert render_prompt(with_examples(tmp_path, EXAMPLE), FIELDS, EHR_ACTIONS)[1] == EXAMPLE["messages"][0]


@pytest.mark.parametrize(
    ("example", "message"),
    [
        ("{", "not JSON"),
        ({"messages": EXAMPLE["messages"]}, "instance_id is missing"),
        ({"instance_id": True, "messages": EXAMPLE["messages"]}, "instance_id is missing"),
        ({"instance_id": 1}, "messages is missing"),
        ({"instance_id": 1, "messages": [{"role": "system", "content": "x"}]}, "not 'system'"),
        ({"instance_id": 1, "messages": ["x"]}, "expected the roles"),
        ({"instance_id": 1, "messages": [{"role": "user", "content": 3}]}, "must be a text"),
        ({"instance_id": 1, "messages": EXAMPLE["messages"][:1]}, "ends with a reply"),
    ],
)
def test_a_mistake_in_an_example_is_named_with_its_line(example: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        render_prompt(with_examples(tmp_path, EXAMPLE, example), FIELDS, EHR_ACTIONS)
    assert str(caught.value).startswith(f"{tmp_path / 'few_shot.jsonl'}:2: ")
    assert message in str(caught.value)


def test_a_file_without_examples_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no example"):
        render_prompt(with_examples(tmp_path, ""), FIELDS, EHR_ACTIONS)


def test_examples_from_what_is_asked_are_refused(tmp_path: Path) -> None:
    config = with_examples(tmp_path, EXAMPLE)
    check_few_shot(config, ["How many wards are there?", "?"], ["test-1", 7])
    with pytest.raises(UserError, match=r"few_shot\.jsonl:1: instance train-1 is among those asked"):
        check_few_shot(config, [], ["train-1"])
    with pytest.raises(UserError, match=r"few_shot\.jsonl:1: holds a question that is asked \('how many beds are there\?'\)"):
        check_few_shot(config, ["how many beds\nare there?"], [])
    check_few_shot(Config(), ["how many beds are there?"], ["train-1"])


def test_the_digest_knows_every_text_that_prompts_are_made_of(tmp_path: Path) -> None:
    own = prompt_digest(Config())
    assert own == prompt_digest(Config(num_steps=3))
    digests = [
        own,
        prompt_digest(with_template(tmp_path, "a", "user")),
        prompt_digest(with_template(tmp_path, "a", "system")),
        prompt_digest(with_examples(tmp_path, EXAMPLE)),
        prompt_digest(with_examples(tmp_path, EXAMPLE, EXAMPLE)),
    ]
    assert len(set(digests)) == 5
    assert all(len(digest) == 64 for digest in digests)


def test_the_digest_does_not_depend_on_where_a_template_lies(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert prompt_digest(with_template(tmp_path, "same")) == prompt_digest(with_template(tmp_path / "other", "same"))


def test_the_debugging_model_is_shown_program_and_error_to_the_letter() -> None:
    text = render_debug_prompt("print('{{ x }}')", "NameError: {% y %}")
    assert "print('{{ x }}')" in text and "NameError: {% y %}" in text
