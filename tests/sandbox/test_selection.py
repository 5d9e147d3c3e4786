"""The backend is chosen by trying, and nothing unsafe is ever chosen by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from medagentgym.__main__ import main
from medagentgym.config import SandboxConfig
from medagentgym.errors import InfrastructureError, UserError
from medagentgym.sandbox import BoxSpec, Limits, PackageIndex, box_spec, choose_backend, landlock, probe_backends, selection
from medagentgym.sandbox.box import ZygoteBox
from medagentgym.sandbox.control_groups import memory_guard


@pytest.fixture
def forgotten_probes() -> Iterator[None]:
    selection.probe.cache_clear()
    yield
    selection.probe.cache_clear()


class Broken:
    name = "broken"
    level = "broken"
    own_file_system = own_network = True

    def start(self, spec: BoxSpec) -> ZygoteBox:
        raise InfrastructureError("sandbox", "namespaces are closed")


def test_every_backend_is_tried_and_says_why_it_does_not_work(forgotten_probes: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(selection._BACKENDS, "bubblewrap", Broken)
    probes = {probe.name: probe for probe in probe_backends()}
    assert list(probes) == ["bubblewrap", "landlock", "none"]
    assert not probes["bubblewrap"].works
    assert probes["bubblewrap"].reason.startswith("namespaces are closed; install bubblewrap")
    assert probes["none"].works and probes["none"].reason == ""


def test_auto_takes_the_strongest_that_works(forgotten_probes: None, monkeypatch: pytest.MonkeyPatch) -> None:
    working = [probe.name for probe in probe_backends() if probe.works and probe.name != "none"]
    if not working:
        pytest.skip("no backend that isolates works here")
    assert choose_backend("auto").name == working[0]


def test_auto_refuses_rather_than_run_code_unprotected(forgotten_probes: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(selection._BACKENDS, "bubblewrap", Broken)
    monkeypatch.setitem(selection._BACKENDS, "landlock", Broken)
    with pytest.raises(InfrastructureError, match="bubblewrap: namespaces are closed; install") as caught:
        choose_backend("auto")
    assert caught.value.fatal
    assert choose_backend("none").level == "none"


def test_a_network_is_only_had_from_a_backend_that_has_one(forgotten_probes: None, monkeypatch: pytest.MonkeyPatch) -> None:
    if probe_backends()[0].works:
        assert choose_backend("auto", network="package-index").name == "bubblewrap"
    monkeypatch.setitem(selection._BACKENDS, "bubblewrap", Broken)
    selection.probe.cache_clear()
    for name in ("auto", "bubblewrap"):
        with pytest.raises(UserError, match=r"^sandbox\.network: package-index needs .* bubblewrap: namespaces are closed"):
            choose_backend(name, network="package-index")


def test_a_kernel_whose_landlock_is_too_old_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "landlock_abi", lambda: 5)
    with pytest.raises(InfrastructureError, match="version 5"):
        landlock.LandlockBackend().start(BoxSpec(python=Path("/usr/bin/python3")))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(InfrastructureError, match="there are bubblewrap, landlock, none"):
        choose_backend("docker")


def test_the_command_line_tells_what_works_and_what_bounds_a_boxs_memory(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sandbox", "check"]) in (0, 1)
    table = capsys.readouterr().out
    assert "memory of a box" in table
    for probe in probe_backends():
        line = next(line for line in table.splitlines() if line.startswith(probe.name))
        assert ("yes" in line and memory_guard() in line) if probe.works else probe.reason[:40] in line


def test_the_outcome_is_kept() -> None:
    assert probe_backends()[0] is probe_backends()[0]


def test_a_package_index_follows_the_configuration_and_its_credentials_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACKAGE_INDEX_USER", "reader")
    monkeypatch.setenv("PACKAGE_INDEX_PASSWORD", "sesame-open")
    assert box_spec(SandboxConfig(), tmp_path / "python", {}).package_index is None
    spec = box_spec(SandboxConfig(network="package-index", package_index_mb=7), tmp_path / "python", {})
    assert spec.package_index == PackageIndex("https://pypi.org/simple", "reader", "sesame-open", ("files.pythonhosted.org",), 7)


def test_a_spec_follows_the_configuration(tmp_path: Path) -> None:
    spec = box_spec(SandboxConfig(memory_mb=300), tmp_path / "python", {"/data": tmp_path})
    assert spec.limits.memory_mb == 300 and spec.python == tmp_path / "python" and spec.read_only == {"/data": tmp_path}
    assert box_spec(SandboxConfig(), tmp_path / "python", {}).limits == Limits()
