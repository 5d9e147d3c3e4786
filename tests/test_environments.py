"""Code steps run in an interpreter of their own, which is made of a lock and known by it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from wheel_file import write_wheel

from medagentgym import environments, fingerprint
from medagentgym.__main__ import main
from medagentgym.config import Config, SandboxConfig
from medagentgym.errors import InfrastructureError, UserError
from medagentgym.sandbox import BoxSpec, choose_backend
from medagentgym.tasks.mimic_iii import MimicIII

EHR = ("numpy", "pandas", "pyarrow", "scipy", "matplotlib", "rapidfuzz", "pip")


@pytest.fixture
def small_family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A family of one small package, with an index of its own."""
    wheel, digest = write_wheel(tmp_path / "wheels", "tiny-package", "1.0")
    locks = tmp_path / "envs"
    locks.mkdir()
    (locks / "small.lock").write_text(f"tiny-package==1.0 --hash=sha256:{digest}\n")
    monkeypatch.setattr(environments, "LOCKS", locks)
    monkeypatch.setenv(environments.FOLDER_VARIABLE, str(tmp_path / "made here"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    environments._built.cache_clear()
    yield "small"
    environments._built.cache_clear()


def of_family(name: str) -> type:
    return type("TaskOfAFamily", (), {"environment_family": name})


def run(python: Path, code: str) -> str:
    return subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_every_lock_pins_each_package_with_hashes_and_has_a_list_it_was_made_of() -> None:
    assert environments.families() == ["bioinformatics", "ehr", "machine_learning", "statistics"]
    for family in environments.families():
        text = (environments.LOCKS / f"{family}.lock").read_text()
        pinned = re.findall(r"^([a-z0-9_.-]+)==\S+.* \\\n    --hash=sha256:", text, flags=re.MULTILINE)
        assert len(pinned) == len(re.findall(r"^\S", text, flags=re.MULTILINE))
        assert set(EHR) <= set(pinned) and (environments.LOCKS / f"{family}.in").is_file()


def test_an_environment_is_made_of_its_lock_and_named_by_it(small_family: str) -> None:
    folder = environments.build(small_family)
    assert re.fullmatch(r"small-[0-9a-f]{12}-python3\.\d+", folder.name) and folder.parent.name == "made here"
    python = environments.interpreter(Config(), of_family(small_family)())
    assert run(python, "import tiny_package; print(tiny_package.value)") == "7"
    assert run(python, "import importlib.util; print(importlib.util.find_spec('medagentgym'))") == "None"
    assert environments.identity(Config(), of_family(small_family)()) == folder.name


def test_an_environment_that_is_there_is_not_made_again(small_family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = environments.build(small_family)
    monkeypatch.setenv("PIP_FIND_LINKS", "/nowhere")
    assert environments.build(small_family) == folder


def test_of_two_builders_at_once_one_builds_and_the_other_waits(small_family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    real = environments._build
    monkeypatch.setattr(environments, "_build", lambda *arguments: (built.append(1), real(*arguments)))
    builders = [threading.Thread(target=environments.build, args=(small_family,)) for _ in range(3)]
    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join()
    assert built == [1] and environments.is_built(small_family)


def test_another_lock_is_another_environment_and_the_old_one_stays(small_family: str) -> None:
    old = environments.build(small_family)
    lock = environments.LOCKS / "small.lock"
    lock.write_text("# renewed\n" + lock.read_text())
    assert not environments.is_built(small_family)
    assert environments.build(small_family) != old and (old / environments.COMPLETE).is_file()


def test_what_an_interrupted_builder_left_is_made_anew(small_family: str) -> None:
    folder = environments.environment_folder(small_family)
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    with pytest.raises(UserError, match="not built yet"):
        environments.interpreter(Config(), of_family(small_family)())
    assert environments.build(small_family) == folder and environments.is_built(small_family)


def test_a_failed_build_is_one_line_and_leaves_nothing(small_family: str) -> None:
    lock = environments.LOCKS / "small.lock"
    lock.write_text(lock.read_text().replace("sha256:", "sha256:00")[:-3] + "\n")
    with pytest.raises(InfrastructureError, match=r"^machine: the environment small could not be made: ") as caught:
        environments.build(small_family)
    assert "\n" not in str(caught.value) and not environments.environment_folder(small_family).exists()


def test_an_environment_can_be_used_by_a_box_under_any_umask(small_family: str, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        python = environments.build(small_family) / "bin" / "python"
    finally:
        os.umask(before)
    box = choose_backend("auto").start(BoxSpec(python=python, preload=("tiny_package",)))
    try:
        assert box.start_report["missing"] == []  # type: ignore[attr-defined]
        assert box.run("import tiny_package\nanswer = tiny_package.value").answer == 7
    finally:
        box.close()


def test_an_environment_that_is_not_built_says_what_to_type(small_family: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match=r"environment small: not built yet; type `.* -m medagentgym environments build small`"):
        environments.interpreter(Config(), of_family(small_family)())
    assert main(["environments", "build", small_family]) == 0
    assert environments.interpreter(Config(), of_family(small_family)()).is_file()
    capsys.readouterr()
    assert main(["environments"]) == 0
    assert re.search(r"small +yes +", capsys.readouterr().out)


def test_an_unknown_family_is_named_with_those_that_there_are(small_family: str) -> None:
    with pytest.raises(UserError, match=r"environment 'large': .*there are: small"):
        environments.build("large")


def test_an_interpreter_or_the_folder_of_an_environment_can_be_given(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "own"], check=True)
    python = tmp_path / "own" / "bin" / "python"
    for given in (python, tmp_path / "own"):
        assert environments.interpreter(Config(sandbox=SandboxConfig(python=given)), MimicIII) == python
    with pytest.raises(UserError, match=r"sandbox\.python: .* holds no bin/python"):
        environments.interpreter(Config(sandbox=SandboxConfig(python=tmp_path)), MimicIII)


def test_a_given_interpreter_is_known_by_its_packages_and_not_by_its_place(tmp_path: Path) -> None:
    for name in ("first", "second"):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / name], check=True)
    first, second = (environments.identity(Config(sandbox=SandboxConfig(python=tmp_path / name)), MimicIII) for name in ("first", "second"))
    assert first == second and re.fullmatch(r"Python 3\.\d+\.\d+, packages [0-9a-f]{12}", first)
    harness = environments.identity(Config(sandbox=SandboxConfig(python=Path(sys.executable))), MimicIII)
    assert harness != first


def test_episodes_of_other_packages_are_not_mixed(tmp_path: Path) -> None:
    wanted = {"configuration": {}, "digests": {"packages": "ehr-0"}, "fingerprint": "0", "versions": {}}
    fingerprint.claim(tmp_path, wanted)
    with pytest.raises(UserError, match="the packages that code steps find"):
        fingerprint.claim(tmp_path, wanted | {"digests": {"packages": "ehr-1"}})


def test_the_environment_for_electronic_health_records_has_its_packages() -> None:
    python = environments.interpreter(Config(), MimicIII)
    for backend in ("bubblewrap", "landlock"):
        box = choose_backend(backend).start(BoxSpec(python=python))
        try:
            code = f"import importlib\nfor name in {EHR!r}:\n    importlib.import_module(name)\nimport importlib.util\n"
            result = box.run(code + "answer = importlib.util.find_spec('medagentgym') is None")
            assert result.answer is True, result.stderr
            assert box.shell("pip --version").exit_status == 0
        finally:
            box.close()


def test_a_configuration_stands_for_the_families_of_its_tasks(tmp_path: Path) -> None:
    file = tmp_path / "several.yaml"
    data = "data: {synthetic: {patients: 10, train: 1, test: 1}}"
    file.write_text(f"{data}\nexperiments:\n- {{task: npowerai, result_dir_tag: a}}\n- {{task: treqs, result_dir_tag: b}}\n", encoding="utf-8")
    assert environments._families_of(str(file)) == ["statistics", "ehr"]
    assert environments._families_of("ehr") == ["ehr"]
