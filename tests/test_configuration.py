"""Configuration files: what is read, what wins, and the one line that every mistake becomes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT

from medagentgym.config import Config
from medagentgym.configuration import experiments, instance_range, load_config, slug
from medagentgym.errors import UserError

Write = Callable[..., Path]

PUBLISHED = """
Agent:
  llm:
    model_type: Azure
    model_name: gpt-4.1-mini
    max_total_tokens: 128000
    max_input_tokens: 120000
    max_new_tokens: 8192
    log_probs: False
    temperature: 0.0
    deployment_name: my-deployment
    port:
  n_retry: 5
  retry_delay: 10
Data:
  metadata_path: ./data/metadata.json
  data_path: DATA
Debugger:
  model_type: Azure
  model_name: gpt-4.1
  max_total_tokens: 128000
  max_input_tokens: 8192
  max_new_tokens: 8192
  log_probs: False
  temperature: 0.0
  deployment_name: debug-deployment
Env:
  n_retry: 4
task: mimic_iii
credentials_path: ./credentials.toml
work_dir: ./workdir/gpt_4_1_mini
result_dir_tag: mimic-gpt-4.1-mini
start_idx: 0
end_idx: -1
num_steps: 15
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a configuration file; the current folder is empty but for it."""
    monkeypatch.chdir(tmp_path)

    def write_file(content: str | dict[str, Any], name: str = "run.yaml", *, data: bool = True) -> Path:
        path = Path(name)
        if isinstance(content, dict):
            content = json.dumps({**({"data": {"synthetic": {}}} if data else {}), **content})
        path.write_text(content, encoding="utf-8")
        return path

    return write_file


def mistake(path: Path | dict[str, Any], overrides: dict[str, Any] | None = None) -> str:
    """The one line that a wrong configuration becomes."""
    with pytest.raises(UserError) as caught:
        load_config(path, overrides)
    message = str(caught.value)
    assert "\n" not in message
    return message


# --- what is read -----------------------------------------------------------------------------------------------------------------------------------


def test_a_yaml_file_and_a_json_file_say_the_same(write: Write) -> None:
    content = {"task": "eicu", "num_steps": 7, "data": {"synthetic": {"patients": 20}}, "agent": {"llm": {"temperature": None}}}
    from_json = load_config(write(json.dumps(content, indent="\t"), "run.json"))
    from_yaml = load_config(write(yaml.safe_dump(content), "run.yaml"))
    assert from_json.model_dump(exclude={"config_path"}) == from_yaml.model_dump(exclude={"config_path"})
    assert from_yaml.agent.llm.temperature is None and from_yaml.num_steps == 7 and from_yaml.name == "run"


def test_json_is_recognised_by_its_content_where_the_suffix_says_nothing(write: Write) -> None:
    assert load_config(write('\ufeff{\n\t"num_steps": 3, "data": {"synthetic": {}}}', "settings.txt")).num_steps == 3


def test_the_published_layout_is_read_as_it_is_and_means_the_published_protocol(write: Write, tmp_path: Path) -> None:
    (tmp_path / "mimic").mkdir()
    config = load_config(write(PUBLISHED.replace("DATA", "mimic"), "published.yaml"))
    assert (config.protocol, config.stop_judge) == ("oracle_stop", "published")
    assert (config.agent.n_retry, config.agent.retry_delay, config.env.n_retry) == (5, 10.0, 4)
    assert (config.agent.llm.model_type, config.agent.llm.deployment_name, config.agent.llm.max_new_tokens) == ("Azure", "my-deployment", 8192)
    assert config.debugger is not None and config.debugger.deployment_name == "debug-deployment"
    assert (config.data.data_path, config.data.metadata_path) == (Path("mimic"), Path("data/metadata.json"))
    assert (config.num_steps, config.end_idx, config.result_dir_tag) == (15, -1, "mimic-gpt-4.1-mini")


def test_a_published_layout_that_names_its_protocol_keeps_it(write: Write, tmp_path: Path) -> None:
    (tmp_path / "mimic").mkdir()
    path = write(PUBLISHED.replace("DATA", "mimic") + "protocol: submit\n")
    assert load_config(path).protocol == "submit"
    assert load_config(path).stop_judge == "published"
    assert load_config(write(PUBLISHED.replace("DATA", "mimic")), {"protocol": "submit"}).protocol == "submit"


def test_our_own_layout_means_the_submit_protocol(write: Write) -> None:
    config = load_config(write({"agent": {"name": "reference"}}))
    assert (config.protocol, config.stop_judge) == ("submit", "strict")


def test_an_empty_block_is_as_if_it_were_not_there(write: Write) -> None:
    config = load_config(write("agent:\n  llm:\nenv:\nexperiments:\nDebugger:\ndata: {synthetic: {}, questions: }\n"))
    assert (config.agent.llm.model_name, config.env.n_retry, config.experiments, config.data.questions) == ("gpt-4.1-mini", 3, [], {})


def test_a_date_is_text_where_text_is_expected(write: Write) -> None:
    assert load_config(write("data: {synthetic: {}}\nagent: {llm: {api_version: 2024-10-21}}")).agent.llm.api_version == "2024-10-21"


def test_the_home_folder_is_written_as_a_tilde(write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "raw").mkdir()
    config = load_config(write({"data": {"raw_path": "~/raw"}, "work_dir": "~/work"}))
    assert (config.data.raw_path, config.work_dir) == (tmp_path / "raw", tmp_path / "work")


@pytest.mark.parametrize(
    ("stem", "name"), [("mimic_demo", "mimic_demo"), ("my config (2)", "my-config-2"), ("...", None)], ids=["plain", "unsafe", "nothing left"]
)
def test_the_name_is_the_stem_of_the_file_as_a_folder_name(write: Write, stem: str, name: str | None) -> None:
    assert load_config(write({}, f"{stem}.yaml")).name == name


def test_a_name_in_the_file_wins_over_the_stem_and_a_name_beside_a_mapping_is_taken(write: Write) -> None:
    assert load_config(write({"name": "chosen"})).name == "chosen"
    assert load_config({"data": {"synthetic": {}}}, name="given").name == "given"
    assert load_config({"data": {"synthetic": {}}}).name is None


# --- the command line -------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overrides", "key", "value"),
    [
        ({"num_steps": "3"}, "num_steps", 3),
        ({"start_idx": 0}, "start_idx", 0),
        ({"start_idx": "0"}, "start_idx", 0),
        ({"async_run": "false"}, "async_run", False),
        ({"result_dir_tag": 7}, "result_dir_tag", "7"),
        ({"result_dir_tag": "null"}, "result_dir_tag", None),
        ({"agent": {"llm": {"temperature": "null"}}}, "agent.llm.temperature", None),
        ({"agent": {"llm": {"temperature": "0.7"}}}, "agent.llm.temperature", 0.7),
        ({"agent": '{"llm": {"max_new_tokens": 5}}'}, "agent.llm.max_new_tokens", 5),
        ({"agent": {"llm": {"extra_body": {"top_k": "5"}}}}, "agent.llm.extra_body", {"top_k": 5}),
        ({"data": {"only": ["1", "2"]}}, "data.only", [1, 2]),
        ({"data": {"only": "[1, 2]"}}, "data.only", [1, 2]),
        ({"batch_size": "20"}, "batch_size", 20),
    ],
    ids=str,
)
def test_the_command_line_wins_and_may_hand_over_everything_as_text(write: Write, overrides: dict[str, Any], key: str, value: Any) -> None:
    path = write(
        {"num_steps": 9, "start_idx": 4, "async_run": True, "result_dir_tag": "tag", "agent": {"llm": {"model_name": "m", "temperature": 1}}}
    )
    found: Any = load_config(path, overrides)
    assert found.agent.llm.model_name == "m", "blocks are merged key by key"
    for part in key.split("."):
        found = getattr(found, part)
    assert found == value


@pytest.mark.parametrize("spelling", ["credential_path", "credentials_path"])
def test_both_spellings_of_the_credentials_path_are_read(write: Write, spelling: str) -> None:
    path = write({spelling: "in-file.toml"})
    assert load_config(path).credentials_path == Path("in-file.toml")
    assert load_config(path, {"credential_path": "in-line.toml"}).credentials_path == Path("in-line.toml")
    assert load_config(path, {"credentials_path": "in-line.toml"}).credentials_path == Path("in-line.toml")


def test_two_spellings_that_differ_are_a_mistake(write: Write) -> None:
    assert "credential_path and credentials_path differ" in mistake(write({"credential_path": "a", "credentials_path": "b"}))
    assert load_config(write({"credential_path": "a", "credentials_path": "a"})).credentials_path == Path("a")
    assert "num_rollouts and training.num_rollouts differ" in mistake(write({"num_rollouts": 2, "training": {"num_rollouts": 3}}))


# --- mistakes ---------------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("num_steps: 1\nnum_steps: 2\n", "line 2: not YAML (the key num_steps is given twice)"),
        ("agent:\n\tname: llm\n", "line 2: not YAML (a tab where YAML wants spaces)"),
        ("agent: {name: [}\n", "line 1: not YAML"),
        ("- a\n- b\n", "expects keys with values (`task: mimic_iii`), not a list"),
        ("just text\n", "not text"),
        ("1: x\n", "a key must be text"),
        ("{a: 1}: x\n", "a key that is not text"),
        ("a: 1\n---\nb: 2\n", "not YAML"),
        ("a: !!python/object:os.system {}\n", "not YAML"),
        ("data: &a\n  synthetic: *a\n", "nested too deeply"),
    ],
    ids=["twice", "tab", "broken", "list", "text", "number as key", "block as key", "two documents", "tag", "recursive"],
)
def test_a_file_that_is_no_mapping_in_yaml_is_one_line_with_the_line_number(write: Write, content: str, says: str) -> None:
    message = mistake(write(content))
    assert says in message


@pytest.mark.parametrize(
    ("content", "says"),
    [('{"a": 1, "a": 2}', "the key a is given twice"), ('{"a": }', "line 1: not JSON"), ('{"a": NaN}', "NaN"), ("[" * 100_000, "nested too deeply")],
    ids=["twice", "broken", "not a number", "deep"],
)
def test_a_file_that_is_no_mapping_in_json_is_one_line(write: Write, content: str, says: str) -> None:
    assert says in mistake(write(content, "run.json"))


def test_a_file_that_cannot_be_read_is_named(write: Write, tmp_path: Path) -> None:
    assert mistake(Path("absent.yaml")) == "absent.yaml: no such file"
    (tmp_path / "folder.yaml").mkdir()
    assert mistake(Path("folder.yaml")).startswith("folder.yaml: cannot be read")
    (tmp_path / "latin.yaml").write_bytes(b"task: caf\xe9\n")
    assert "latin.yaml: not UTF-8 text" in mistake(Path("latin.yaml"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"num_step": 3}, "run.yaml: num_step: unknown key; did you mean num_steps?"),
        ({"agent": {"llm": {"temprature": 1}}}, "run.yaml: agent.llm.temprature: unknown key; did you mean agent.llm.temperature?"),
        ({"temperature": 1}, "run.yaml: temperature: unknown key; did you mean agent.llm.temperature?"),
        ({"quux": 1}, "run.yaml: quux: unknown key"),
        ({"data": {"synthetic": {}, "questions": {"tset": "x"}}}, "run.yaml: data.questions.tset: unknown key; did you mean data.questions.test?"),
        ({"num_steps": "many"}, "run.yaml: num_steps: expects an integer, at least 1, not 'many'"),
        ({"num_steps": 0}, "run.yaml: num_steps: expects an integer, at least 1, not 0"),
        ({"num_steps": True}, "run.yaml: num_steps: expects an integer, at least 1, not true"),
        ({"num_steps": None}, "run.yaml: num_steps: expects an integer, at least 1, not null"),
        ({"num_steps": [3]}, "run.yaml: num_steps: expects an integer, at least 1, not a list"),
        ({"sandbox": {"wall_seconds": float("inf")}}, "sandbox.wall_seconds: expects a number, at least 0.1, at most 604800, not "),
        ({"sandbox": {"processes": 10**7}}, "sandbox.processes: expects an integer, at least 1, at most 100000, not 10000000"),
        ({"start_idx": -1}, "run.yaml: start_idx: expects an integer, at least 0, not -1"),
        ({"end_idx": -2}, "run.yaml: end_idx: expects an integer, at least -1, not -2"),
        ({"mode": "tset"}, "run.yaml: mode: expects one of `train`, `test`, not 'tset'; did you mean test?"),
        ({"agent": {"llm": {"model_type": "openai"}}}, "did you mean OpenAI?"),
        ({"agent": {"llm": {"temperature": "warm"}}}, "agent.llm.temperature: expects a number, at least 0, or null, not 'warm'"),
        ({"agent": []}, "run.yaml: agent: expects a block of keys, not a list"),
        ({"batch_size": 0}, "run.yaml: batch_size: expects an integer, at least 1, or `auto`, not 0"),
        ({"data": {"synthetic": {}, "only": [1, -2]}}, "run.yaml: data.only[1]: expects an integer, at least 0, not -2"),
        ({"result_dir_tag": "a/b"}, "run.yaml: result_dir_tag: expects a name of letters, digits"),
        ({"result_dir_tag": 4.10}, "write it in quotes"),
        ({"work_dir": ""}, "run.yaml: work_dir: expects a path, not ''"),
        (
            {"data_policy": {"acknowledged": [{"endpoint": "a.b"}]}},
            "run.yaml: data_policy.acknowledged[0].basis: is missing; expects text, at least 10",
        ),
        ({"num_steps": "x", "num_step": 1, "mode": 3}, "did you mean num_steps? (and 2 more mistakes)"),
        ({"experiments": [3]}, "run.yaml: experiments[0]: expects a mapping, not 3"),
    ],
    ids=str,
)
def test_a_wrong_key_or_value_is_one_line_with_file_and_key(write: Write, content: dict[str, Any], says: str) -> None:
    assert says in mistake(write(content))


def test_not_a_number_is_no_number(write: Write) -> None:
    assert "agent.retry_delay: expects a number" in mistake(write("data: {synthetic: {}}\nagent: {retry_delay: .inf}"))
    assert "agent.llm.temperature: expects a number" in mistake(write("data: {synthetic: {}}\nagent: {llm: {temperature: .nan}}"))


def test_a_mistake_on_the_command_line_is_said_to_be_there(write: Write) -> None:
    assert mistake(write({}), {"num_steps": "x"}) == "command line: num_steps: expects an integer, at least 1, not 'x'"
    assert mistake(write({}), {"num_step": 1}) == "command line: num_step: unknown key; did you mean num_steps?"


def test_a_mistake_in_the_published_layout_is_named_as_it_is_written_there(write: Write, tmp_path: Path) -> None:
    (tmp_path / "mimic").mkdir()
    content = PUBLISHED.replace("DATA", "mimic")
    assert "run.yaml: Agent.llm.temprature: unknown key; did you mean Agent.llm.temperature?" in mistake(
        write(content.replace("    temperature: 0.0\n    deployment_name: my", "    temprature: 0.0\n    deployment_name: my"))
    )
    assert "run.yaml: Env.n_retry: expects an integer, at least 0, not 'x'" in mistake(write(content.replace("n_retry: 4", "n_retry: x")))
    assert "run.yaml: Data.data_path: nowhere does not exist" in mistake(write(PUBLISHED.replace("DATA", "nowhere")))
    assert "Agent and agent are the same block" in mistake(write(content + "agent: {name: reference}\n"))


@pytest.mark.parametrize(
    "content",
    [
        {"agent": {"llm": {"api_key": "abcdefgh"}}},
        {"OPENAI_API_KEY": "abcdefgh"},
        {"agent": {"options": {"password": "hunter22"}}},
        {"agent": {"llm": {"extra_body": {"hf_token": "abcdefghijkl"}}}},
        {"agent": {"llm": {"model_name": "sk-proj-abcdefghijklmnop"}}},
        {"agent": {"llm": {"api_key_name": "0123456789abcdef0123456789abcdef"}}},
        {"agent": {"llm": {"base_url": "https://user:pa55word@host/v1"}}},
        {"agent": {"llm": {"base_url": "https://host/v1?api-key=abcdefghijkl"}}},
        {"sandbox": {"package_index": "https://hunter22@host/simple"}},
        {"experiments": [{"agent": {"llm": {"api_key": "abcdefgh"}}}]},
    ],
    ids=str,
)
def test_a_secret_is_refused_and_not_repeated(write: Write, content: dict[str, Any]) -> None:
    message = mistake(write(content))
    assert "looks like a secret" in message and "credentials_path" in message
    for value in ("abcdefgh", "hunter22", "0123456789abcdef", "pa55word"):
        assert value not in message
    assert "looks like a secret" in mistake(write({}), content), "nor on the command line"


@pytest.mark.parametrize(
    "address", ["pypi.org/simple", "ftp://host/simple", "https://", "https://host/simple?x=1", "https://host/a b", "https://host#x"]
)
def test_the_address_of_a_package_index_has_no_more_than_a_host_and_a_path(write: Write, address: str) -> None:
    message = mistake(write({"sandbox": {"package_index": address}}))
    assert "sandbox.package_index: expects the address of a package index, without credentials" in message
    assert load_config(write({"sandbox": {"package_index": "http://[::1]:3141/root/pypi/+simple/"}})).sandbox.network == "none"


def test_what_only_resembles_a_secret_is_taken(write: Write) -> None:
    llm = {"api_key_name": "MY_KEY", "max_total_tokens": 128000, "token_param": "max_tokens", "extra_body": {"stop_token": "</s>"}}
    assert load_config(write({"agent": {"llm": llm}})).agent.llm.api_key_name == "MY_KEY"


# --- data -------------------------------------------------------------------------------------------------------------------------------------------


def test_exactly_one_source_of_data_is_given(write: Write, tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    assert "run.yaml: says nowhere where the data come from; give exactly one of data.raw_path, data.sqlite_path" in mistake(write({}, data=False))
    both = {"data": {"synthetic": {}, "raw_path": "raw"}}
    assert "run.yaml: data.raw_path and data.synthetic are given; give exactly one of" in mistake(write(both))
    assert load_config(write(both), {"data": {"synthetic": "null"}}).data.raw_path == Path("raw")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"data": {"raw_path": "absent"}}, "run.yaml: data.raw_path: absent does not exist"),
        ({"data": {"raw_path": "run.yaml"}}, "run.yaml: data.raw_path: run.yaml is not a folder"),
        ({"data": {"sqlite_path": "."}}, "run.yaml: data.sqlite_path: . is a folder, not a file"),
        ({"data": {"raw_path": ".", "questions": {"test": "absent.json"}}}, "run.yaml: data.questions.test: absent.json does not exist"),
        ({"agent": {"replies": "absent.json"}}, "run.yaml: agent.replies: absent.json does not exist"),
        ({"prompts": {"system": "absent.txt"}}, "run.yaml: prompts.system: absent.txt does not exist"),
        ({"training": {"rollout_indices": "absent"}}, "run.yaml: training.rollout_indices: absent does not exist"),
        ({"experiments": [{"prompts": {"user": "absent"}}]}, "run.yaml: experiments[0].prompts.user: absent does not exist"),
    ],
    ids=str,
)
def test_a_file_that_is_read_must_be_there(write: Write, content: dict[str, Any], says: str) -> None:
    assert says in mistake(write(content))


def test_a_mistake_writes_nothing(write: Write, tmp_path: Path) -> None:
    path = write({"num_step": 3, "work_dir": "work"})
    mistake(path)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


# --- experiments ------------------------------------------------------------------------------------------------------------------------------------


def test_an_entry_is_merged_over_the_rest_of_the_file_block_by_block(write: Write) -> None:
    config = load_config(
        write(
            {
                "num_steps": 9,
                "agent": {"llm": {"temperature": 0.5, "max_new_tokens": 100}},
                "experiments": [
                    {"agent": {"name": "reference"}},
                    {"num_steps": 0o5, "agent": {"llm": {"model_name": "org/model-7b", "temperature": None}}},
                ],
            }
        )
    )
    first, second = experiments(config)
    assert (first.agent.name, first.result_dir_tag, first.num_steps, first.experiments) == ("reference", "reference", 9, [])
    assert (second.result_dir_tag, second.num_steps) == ("org-model-7b", 5)
    assert (second.agent.llm.temperature, second.agent.llm.max_new_tokens) == (None, 100)


@pytest.mark.parametrize(
    ("content", "tag"),
    [
        ({}, "gpt-4.1-mini"),
        ({"agent": {"name": "scripted"}}, "scripted"),
        ({"agent": {"name": "my_agent"}}, "my_agent"),
        ({"agent": {"name": "my_agent", "llm": {"model_name": "a b"}}}, "my_agent-a-b"),
        ({"result_dir_tag": "mine"}, "mine"),
    ],
    ids=str,
)
def test_without_a_tag_agent_and_model_make_one(write: Write, content: dict[str, Any], tag: str) -> None:
    assert [experiment.result_dir_tag for experiment in experiments(load_config(write(content)))] == [tag]


def test_two_experiments_that_would_write_to_the_same_folder_are_named(write: Write) -> None:
    entries = [{"agent": {"name": "reference"}}, {"agent": {"name": "baseline"}}, {"agent": {"name": "reference"}, "num_steps": 3}]
    message = mistake(write({"experiments": entries}))
    assert "experiments[0] and experiments[2] would both write to mimic_iii/reference/test" in message
    entries[2]["mode"] = "train"
    assert len(experiments(load_config(write({"experiments": entries})))) == 3


def test_a_mistake_in_an_entry_names_the_entry(write: Write) -> None:
    entries: list[dict[str, Any]] = [{}, {"agent": {"llm": {"temprature": 1}}}]
    assert mistake(write({"experiments": entries})).startswith(
        "run.yaml: experiments[1].agent.llm.temprature: unknown key; did you mean agent.llm.temp"
    )
    entries[1] = {"num_steps": "x"}
    assert mistake(write({"experiments": entries})).startswith("run.yaml: experiments[1].num_steps: expects")
    entries[1] = {"work_dir": "elsewhere"}
    assert mistake(write({"experiments": entries})) == "run.yaml: experiments[1].work_dir: belongs to the whole run; write it outside of experiments"


def test_the_command_line_wins_over_the_entries_too(write: Write) -> None:
    config = load_config(
        write(
            {"experiments": [{"agent": {"name": "reference"}, "num_steps": 3}, {"num_steps": 4, "agent": {"llm": {"model_name": "m", "top_p": 0.5}}}]}
        ),
        {"num_steps": "2", "agent": {"llm": {"top_p": "null"}}},
    )
    assert [(experiment.num_steps, experiment.agent.llm.top_p, experiment.result_dir_tag) for experiment in experiments(config)] == [
        (2, None, "reference"),
        (2, None, "m"),
    ]


def test_an_entry_in_the_published_layout_has_the_published_protocol(write: Write) -> None:
    config = load_config(write({"experiments": [{"Agent": {"llm": {"model_name": "a"}}}, {"agent": {"llm": {"model_name": "b"}}}]}))
    assert [experiment.protocol for experiment in experiments(config)] == ["oracle_stop", "submit"]


def test_a_resolved_configuration_loads_again_as_itself(write: Write) -> None:
    config = load_config(write({"num_steps": 3, "experiments": [{"agent": {"name": "reference"}}, {"mode": "train"}]}))
    for experiment in [config, *experiments(config)]:
        assert load_config(experiment.model_dump(mode="json")) == experiment
        assert Config.model_validate(json.loads(experiment.model_dump_json())) == experiment


# --- instances --------------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end", "expected"), [(0, -1, range(0, 10)), (0, 10, range(0, 10)), (9, -1, range(9, 10)), (0, 1, range(0, 1)), (3, 5, range(3, 5))]
)
def test_end_idx_is_exclusive_and_minus_one_is_all(start: int, end: int, expected: range) -> None:
    assert instance_range(Config(start_idx=start, end_idx=end), 10) == expected


@pytest.mark.parametrize(
    ("start", "end", "says"),
    [
        (10, -1, "start_idx: 10 is beyond the last instance"),
        (0, 11, "end_idx: 11 is too large"),
        (5, 5, "end_idx: 5 leaves nothing to do after start_idx 5"),
        (5, 3, "end_idx: 3 leaves nothing"),
        (0, 0, "end_idx: 0 leaves nothing"),
    ],
)
def test_an_index_out_of_the_file_is_named_with_file_and_key(start: int, end: int, says: str) -> None:
    with pytest.raises(UserError, match=says) as caught:
        instance_range(Config(config_path=Path("run.yaml"), start_idx=start, end_idx=end), 10)
    assert str(caught.value).startswith("run.yaml: ")


def test_a_slug_is_safe_as_a_folder_name() -> None:
    assert [slug(text) for text in ("gpt-4.1-mini", "Qwen/Qwen2.5-7B", "../../etc", "ä ö", "")] == ["gpt-4.1-mini", "Qwen-Qwen2.5-7B", "etc", "", ""]


# --- the reference page -----------------------------------------------------------------------------------------------------------------------------


def test_the_schema_and_the_reference_page_are_current() -> None:
    result = subprocess.run([sys.executable, "-m", "medagentgym.reference_page", "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_the_reference_page_has_every_key() -> None:
    from medagentgym.config_keys import all_keys

    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert [key for key in all_keys() if f"| `{key[-1]}` |" not in page] == []


# --- what is shipped --------------------------------------------------------------------------------------------------------------------------------


SHIPPED = [ROOT / "config" / name for name in ("demo.yaml", "mimic.yaml", "mimic_demo.yaml")]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_a_shipped_configuration_loads_where_its_data_are(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    try:
        assert load_config(path).name == path.stem
    except UserError as error:
        assert "does not exist" in str(error)


def test_the_schema_accepts_what_the_loader_accepts_and_nothing_else() -> None:
    import jsonschema

    validator = jsonschema.Draft202012Validator(json.loads((ROOT / "config" / "schema.json").read_text(encoding="utf-8")))
    accepted = [
        yaml.safe_load(PUBLISHED.replace("    port:\n", "")),
        *(yaml.safe_load(path.read_text()) for path in SHIPPED),
    ]
    for content in accepted:
        assert [error.message for error in validator.iter_errors(content)] == []
    for content in ({"num_step": 3}, {"num_steps": 0}, {"experiments": [{"agent": {"llm": {"temprature": 1}}}]}, {"mode": "valid"}):
        assert not validator.is_valid(content)
