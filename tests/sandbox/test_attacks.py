"""What hostile code tries, against every backend that isolates. As root, all of it is tried once more as an ordinary user."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyseccomp
import pytest
from ordinary_user import USER, accessible_python

import medagentgym
from medagentgym.sandbox import Backend, Box, BoxSpec, StepResult, choose_backend
from medagentgym.sandbox.selection import probe

SECRET = "sk-" + "0123456789abcdef" * 2

PREAMBLE = """
import ctypes, errno, os, signal, socket, sys
libc = ctypes.CDLL(None, use_errno=True)

def tried(action):
    try:
        return f"done: {action()!r}"
    except OSError as error:
        return errno.errorcode[error.errno]

def call(number, *arguments):
    def action():
        result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
        if result < 0:
            raise OSError(ctypes.get_errno(), "")
        return result
    return tried(action)
"""


@pytest.fixture(scope="module", params=["bubblewrap", "landlock"])
def isolating(request: pytest.FixtureRequest) -> Backend:
    outcome = probe(request.param)
    if not outcome.works:
        pytest.skip(outcome.reason)
    return choose_backend(request.param)


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What lies beside a task's data on the host."""
    folder = tmp_path_factory.mktemp("work_dir")
    for name in ("credentials.toml", "test_tasks.jsonl", "history_0.json"):
        (folder / name).write_text(SECRET)
        (folder / name).chmod(0o644)
    folder.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def _module_box(isolating: Backend, spec: BoxSpec) -> Iterator[Box]:
    os.environ["OPENAI_API_KEY"] = SECRET
    box = isolating.start(spec)
    yield box
    del os.environ["OPENAI_API_KEY"]
    box.close()


@pytest.fixture
def box(_module_box: Box) -> Iterator[Box]:
    """A box that has to work afterwards as before."""
    assert _module_box.reset()
    yield _module_box
    assert _module_box.run("answer = 'alive'").answer == "alive"
    assert _module_box.reset()


def attack(box: Box, code: str) -> StepResult:
    return box.run(PREAMBLE + textwrap.dedent(code))


def outcome(box: Box, expression: str) -> str:
    """What became of one attempt: the name of the error, or `done: ...`."""
    result = attack(box, f"answer = {expression}")
    assert result.has_answer, result.stderr
    return str(result.answer)


# --- reading ------------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/etc/shadow", "/etc/sudoers", "/proc/kcore", "/proc/kmsg", "/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda"])
def test_files_of_the_machine_cannot_be_read(box: Box, path: str) -> None:
    assert outcome(box, f"tried(lambda: open('{path}', 'rb').read(1))") in ("ENOENT", "EACCES", "EPERM")


@pytest.mark.parametrize("name", ["credentials.toml", "test_tasks.jsonl", "history_0.json"])
def test_credentials_gold_and_other_episodes_cannot_be_read(box: Box, secrets: Path, name: str) -> None:
    assert outcome(box, f"tried(lambda: open({str(secrets / name)!r}).read())") in ("ENOENT", "EACCES")


def test_nothing_beside_the_data_can_be_reached_through_the_data(box: Box, data: Path) -> None:
    (data.parent / "gold.json").write_text(SECRET)
    (data.parent / "gold.json").chmod(0o644)
    for path in (f"{box.data_folder}/../gold.json", f"{box.data_folder}/../../gold.json", str(data.parent / "gold.json")):
        assert outcome(box, f"tried(lambda: open({path!r}).read())") in ("ENOENT", "EACCES")


def test_keys_and_the_home_folder_cannot_be_read(box: Box) -> None:
    for path in (Path.home() / ".ssh", Path.home() / ".bashrc", Path.home() / ".config"):
        assert outcome(box, f"tried(lambda: os.listdir({str(path)!r}) if os.path.isdir({str(path)!r}) else open({str(path)!r}))") in (
            "ENOENT",
            "EACCES",
        )


def test_the_judges_cannot_be_read(box: Box) -> None:
    source = Path(medagentgym.__file__).parent / "judges" / "base.py"
    assert outcome(box, f"tried(lambda: open({str(source)!r}))") in ("ENOENT", "EACCES")
    assert box.run("import medagentgym.judges.base").exit_status == 1


def test_no_environment_in_sight_holds_a_secret(box: Box) -> None:
    result = attack(
        box,
        f"""
        answer = []
        for process in map(str, range(1, 40000)):
            for name in ("environ", "cmdline"):
                try:
                    if {SECRET!r} in open(f"/proc/{{process}}/{{name}}", errors="replace").read():
                        answer.append(process)
                except OSError:
                    pass
        """.replace(SECRET, SECRET[:3] + "' + '" + SECRET[3:]),
    )
    assert result.answer == []


def test_no_file_in_sight_holds_a_secret(box: Box, secrets: Path) -> None:
    code = f"""
        answer = []
        for top in ("/etc", "/home", "/mnt", "/opt", "/root", "/run", "/srv", "/tmp", "/var", "/work", "/data", "/dev/shm"):
            for folder, _, names in os.walk(top):
                if "site-packages" in folder or "lib/python" in folder:
                    continue
                for name in names:
                    path = os.path.join(folder, name)
                    try:
                        if os.path.isfile(path) and {SECRET[:3]!r} + {SECRET[3:]!r} in open(path, errors="replace").read(1000):
                            answer.append(path)
                    except OSError:
                        pass
    """
    assert attack(box, code).answer == []


@pytest.mark.parametrize("name", ["environ", "mem", "maps", "auxv", "fd/0", "cwd/x", "root/etc/shadow", "stack"])
def test_the_zygote_cannot_be_read(box: Box, name: str) -> None:
    assert outcome(box, f"tried(lambda: open(f'/proc/{{os.getppid()}}/{name}', 'rb').read(1))") in ("EACCES", "EPERM", "ENOENT")


def test_a_steps_memory_holds_nothing_of_an_earlier_step(box: Box) -> None:
    marker = "patient-" + "4711" * 4
    box.run(f"print('{marker}')\nanswer = '{marker}' * 100")
    box.shell(f"echo {marker} >&2")
    assert box.reset()
    result = box.run(
        f"""
marker = ({marker[:7]!r} + {marker[7:]!r}).encode()
answer = 0
with open('/proc/self/maps') as maps, open('/proc/self/mem', 'rb') as memory:
    for line in maps:
        bounds, mode = line.split()[:2]
        start, end = (int(bound, 16) for bound in bounds.split('-'))
        if 'r' not in mode or '[v' in line:
            continue
        memory.seek(start)
        try:
            answer += memory.read(end - start).count(marker)
        except (OSError, ValueError, OverflowError, MemoryError):
            pass
"""
    )
    assert result.has_answer, result.stderr
    assert result.answer <= 5, "more than the searching code's own copies"


# --- sockets ------------------------------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def listener(family: socket.AddressFamily, address: object, kind: socket.SocketKind = socket.SOCK_STREAM) -> Iterator[socket.socket]:
    with socket.socket(family, kind) as server:
        server.bind(address)  # type: ignore[arg-type]
        if kind == socket.SOCK_STREAM:
            server.listen()
        server.settimeout(0.2)
        yield server


@pytest.mark.parametrize(("family", "host"), [("AF_INET", "127.0.0.1"), ("AF_INET6", "::1")])
def test_tcp_does_not_reach_the_hosts_loopback(box: Box, family: str, host: str) -> None:
    with listener(getattr(socket, family), (host, 0)) as server:
        port = server.getsockname()[1]
        assert not outcome(box, f"tried(lambda: socket.socket(socket.{family}).connect(({host!r}, {port})))").startswith("done")


def test_udp_does_not_reach_the_hosts_loopback(box: Box) -> None:
    with listener(socket.AF_INET, ("127.0.0.1", 0), socket.SOCK_DGRAM) as server:
        port = server.getsockname()[1]
        outcome(box, f"tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port})))")
        with pytest.raises(TimeoutError):
            server.recv(1)


@pytest.mark.parametrize("address", ["192.0.2.1", "169.254.169.254", "10.0.0.1"])
def test_no_other_machine_is_reached(box: Box, address: str) -> None:
    assert outcome(box, f"tried(lambda: socket.create_connection(({address!r}, 80), timeout=1))") in ("ENETUNREACH", "EPERM", "EACCES")


def test_unix_sockets_of_the_host_are_not_reached(box: Box, tmp_path: Path) -> None:
    name = f"medagentgym-test-{os.getpid()}"
    with listener(socket.AF_UNIX, str(tmp_path / "s")), listener(socket.AF_UNIX, "\0" + name):
        for address in (str(tmp_path / "s"), "\0" + name):
            assert not outcome(box, f"tried(lambda: socket.socket(socket.AF_UNIX).connect({address!r}))").startswith("done")


def test_every_other_address_family_is_denied(box: Box) -> None:
    result = attack(
        box,
        """
        answer = {}
        for family in [*range(3, 10), *range(11, 64), 2**32 + 40, 2**31]:
            answer[family] = call(SOCKET, family, 3, 0), call(SOCKET, family, 1, 0)
        """.replace("SOCKET", str(number_of("socket"))),
    )
    outcomes = {value for _, values in result.answer["items"] for value in values}
    assert outcomes <= {"EAFNOSUPPORT", "EPERM"}


def test_raw_sockets_are_denied(box: Box) -> None:
    assert not outcome(box, "tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))").startswith("done")


# --- writing ------------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        "open(data + '/patients.csv', 'a')",
        "open(data + '/new', 'w')",
        "os.remove(data + '/patients.csv')",
        "os.rename(data + '/patients.csv', data + '/other')",
        "os.truncate(data + '/patients.csv', 0)",
        "os.chmod(data + '/patients.csv', 0o777)",
        "os.chmod(data, 0o777)",
        "os.utime(data + '/patients.csv', (0, 0))",
        "os.setxattr(data + '/patients.csv', 'user.x', b'1')",
        "os.link(data + '/patients.csv', 'link')",
        "os.mkdir(data + '/folder')",
        "os.symlink('/etc', data + '/link')",
    ],
)
def test_the_data_cannot_be_changed(isolating: Backend, box: Box, data: Path, expression: str) -> None:
    before = {path.name: (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns) for path in data.iterdir()}
    ignored = isolating.name == "landlock" and ("chmod" in expression or "utime" in expression)
    assert outcome(box, f"tried(lambda data={box.data_folder!r}: {expression})").startswith("done") == ignored
    assert {path.name: (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns) for path in data.iterdir()} == before


@pytest.mark.parametrize(
    "path",
    [
        "/x",
        "/usr/x",
        "/etc/x",
        "/etc/passwd",
        "/run/x",
        "/run/sandbox/zygote.py",
        "/dev/x",
        "/root/x",
        "/opt/x",
        "/home/x",
        "/var/x",
        "/proc/x",
        "/sys/x",
    ],
)
def test_nothing_outside_the_episodes_folders_can_be_written(box: Box, path: str) -> None:
    assert not outcome(box, f"tried(lambda: open('{path}', 'a'))").startswith("done")


def test_the_interpreter_and_its_packages_cannot_be_written(box: Box) -> None:
    code = """
        import pandas
        answer = [tried(lambda path=path: open(path, "a")) for path in (pandas.__file__, os.__file__, os.path.realpath(sys.executable))]
    """
    assert not any(value.startswith("done") for value in attack(box, code).answer)


@pytest.mark.parametrize(
    "path", ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger", "/proc/1/oom_score_adj"]
)
def test_kernel_settings_cannot_be_written(box: Box, path: str) -> None:
    assert not outcome(box, f"tried(lambda: open('{path}', 'w').write('1'))").startswith("done")


def test_devices_cannot_be_made(box: Box) -> None:
    assert not outcome(box, "tried(lambda: os.mknod('disk', 0o60600, os.makedev(254, 0)))").startswith("done")


# --- the kernel ---------------------------------------------------------------------------------------------------------------------------------


def number_of(name: str) -> int:
    number = pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name)
    if number < 0:
        pytest.skip(f"this machine has no system call {name}")
    return int(number)


# fmt: off
DENIED = [
    "ptrace", "process_vm_readv", "process_vm_writev", "keyctl", "add_key", "request_key", "bpf", "io_uring_setup", "memfd_create",
    "userfaultfd", "perf_event_open", "mount", "umount2", "pivot_root", "chroot", "unshare", "setns", "clone3", "open_tree", "move_mount",
    "fsopen", "fsmount", "mount_setattr", "open_by_handle_at", "name_to_handle_at", "clock_settime", "settimeofday", "adjtimex", "sethostname",
    "setdomainname", "reboot", "kexec_load", "init_module", "finit_module", "delete_module", "swapon", "swapoff", "acct", "syslog", "iopl",
    "quotactl", "fanotify_init", "kcmp", "pidfd_getfd", "shmget", "msgget", "semget", "mq_open", "setxattr", "removexattr", "move_pages",
    "memfd_secret",
]
# fmt: on


@pytest.mark.parametrize("name", DENIED)
def test_the_system_call_is_denied(box: Box, name: str) -> None:
    assert outcome(box, f"call({number_of(name)}, 0, 0, 0, 0, 0)") in ("EPERM", "ENOSYS", "ENOTSUP")


@pytest.mark.parametrize("flag", [0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000])
def test_no_namespace_can_be_made(box: Box, flag: int) -> None:
    assert outcome(box, f"call({number_of('clone')}, {flag} | signal.SIGCHLD, 0, 0, 0, 0)") == "EPERM"
    assert outcome(box, f"call({number_of('unshare')}, {flag})") == "EPERM"


def test_system_calls_of_other_architectures_and_of_newer_kernels_are_denied(box: Box) -> None:
    assert outcome(box, "call(463, 0)") == outcome(box, "call(999, 0)") == "ENOSYS"
    if os.uname().machine == "x86_64":
        assert outcome(box, "call(0x40000000 + 39)") == "ENOSYS"
        code = """
            import mmap
            page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
            page.write(bytes.fromhex("b814000000cd80c3"))
            answer = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
        """
        assert attack(box, code).exit_status in (-signal.SIGSYS, -signal.SIGSEGV)


def test_privileges_cannot_be_gained(isolating: Backend, box: Box) -> None:
    assert outcome(box, "tried(lambda: os.setuid(0))") in ("EPERM", "EINVAL")
    status = dict(line.split(":\t", 1) for line in box.run("print(open('/proc/self/status').read())").stdout.strip().splitlines())
    assert status["NoNewPrivs"] == "1"
    for name in ("CapPrm", "CapEff", "CapAmb"):
        assert int(status[name], 16) in ((0,) if isolating.level != "landlock-root" else (0, 1 << 2)), "only to read, which the rules narrow"
    assert "uid=0" not in box.shell("for f in /usr/bin/su /usr/bin/mount /usr/bin/passwd; do ls -l $f; done; su -c id; sudo -n id").stdout
    assert "uid=0" not in box.shell("cp /usr/bin/id id; chmod 4755 id; ./id").stdout


@pytest.mark.parametrize("request_number", [0x40086602, 0x40046602, 0x40087602, 0x401C5820, 0x40806685, 0x800C6613])
def test_attributes_of_files_cannot_be_changed_where_one_has_to_be_their_owner(box: Box, request_number: int) -> None:
    code = f"tried(lambda: __import__('fcntl').ioctl(os.open('own', os.O_CREAT | os.O_RDONLY), {request_number}, bytes(64)))"
    assert outcome(box, code) == "EPERM"


def test_terminal_input_cannot_be_faked(box: Box) -> None:
    assert not outcome(box, f"call({number_of('ioctl')}, 0, 0x5412, 0)").startswith("done")


# --- the zygote and the rest of the host --------------------------------------------------------------------------------------------------------


def test_the_work_folder_can_be_closed_but_not_for_the_next_step(box: Box) -> None:
    attack(box, "open('result', 'w').write('1'); tried(lambda: os.chmod('.', 0)); tried(lambda: os.chmod(os.environ['TMPDIR'], 0))")
    assert box.read_file("result", 10) == b"1"
    attack(box, "tried(lambda: os.chmod('.', 0))")
    assert outcome(box, "tried(lambda: open('result').read())") == "done: '1'"
    assert box.shell("cat result").stdout == "1"


def test_files_in_a_folder_that_cannot_be_listed_count(box: Box) -> None:
    code = """
        import time
        os.mkdir('dark', 0o300)
        for number in range(600):
            open(f'dark/{number}', 'w').close()
        time.sleep(60)
    """
    assert attack(box, code).limits_hit == ("work_files",)


def test_a_work_folder_that_is_too_full_can_be_cleared_but_not_filled_further(box: Box) -> None:
    fill = "import itertools, time\nfor number in itertools.count():\n    open(f'{time.monotonic()}-{number}', 'w').close()"
    assert "work_files" in attack(box, fill).limits_hit
    assert "work_files" in attack(box, fill).limits_hit
    cleared = attack(box, "import time\ntime.sleep(0.6)\nfor name in os.listdir('.'):\n    os.unlink(name)\nanswer = os.listdir('.')")
    assert cleared.answer == [] and cleared.limits_hit == ()


def test_files_that_lie_beyond_the_longest_path_count(box: Box) -> None:
    code = """
        import time
        for _ in range(40):
            os.mkdir('d' * 200)
            os.chdir('d' * 200)
        for number in range(600):
            open(str(number), 'w').close()
        time.sleep(60)
    """
    assert attack(box, code).limits_hit == ("work_files",)


def test_what_is_set_on_an_open_file_that_all_steps_have_does_not_reach_the_next(box: Box) -> None:
    before = outcome(box, "tried(lambda: __import__('fcntl').fcntl(0, 3))")
    attack(box, "import fcntl\nfcntl.fcntl(0, 4, os.O_NONBLOCK | os.O_APPEND)\nfcntl.fcntl(0, 10, 42)")
    assert outcome(box, "tried(lambda: __import__('fcntl').fcntl(0, 3))") == before
    assert outcome(box, "tried(lambda: __import__('fcntl').fcntl(0, 11))") == "done: 0"


def test_no_signal_reaches_the_zygote(box: Box) -> None:
    code = """
        for number in signal.valid_signals():
            for target in (os.getppid(), -os.getpgid(os.getppid())):
                try:
                    os.kill(target, number)
                except OSError:
                    pass
        answer = "survived"
    """
    attack(box, code)
    assert box.run("answer = 1").answer == 1


def test_killing_everybody_in_sight_kills_the_step_alone(box: Box) -> None:
    attack(box, "os.kill(-1, signal.SIGKILL)")
    attack(box, "os.kill(-1, signal.SIGTERM)")
    assert psutil.Process().is_running()


def test_processes_of_the_host_cannot_be_signalled_or_seen(box: Box) -> None:
    victim = subprocess.Popen(["sleep", "60"])
    try:
        assert outcome(box, f"tried(lambda: os.kill({victim.pid}, 9))") in ("ESRCH", "EPERM")
        assert outcome(box, f"tried(lambda: os.kill({os.getpid()}, 9))") in ("ESRCH", "EPERM")
        assert outcome(box, f"tried(lambda: open('/proc/{victim.pid}/environ', 'rb').read())") in ("ENOENT", "EACCES", "EPERM")
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('resource').prlimit(os.getppid(), __import__('resource').RLIMIT_NOFILE, (0, 0))",
        "__import__('resource').prlimit(os.getppid(), __import__('resource').RLIMIT_CPU, (1, 1))",
        "os.sched_setaffinity(os.getppid(), {0})",
        "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
        "os.setpriority(os.PRIO_USER, 0, 19)",
        "os.sched_setscheduler(os.getppid(), os.SCHED_IDLE, os.sched_param(0))",
        "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))",
        "os.setpriority(os.PRIO_PROCESS, 0, -10)",
    ],
)
def test_the_zygote_cannot_be_starved(box: Box, expression: str) -> None:
    assert not outcome(box, f"tried(lambda: {expression})").startswith("done")


def test_the_control_channel_is_not_in_a_steps_hands(box: Box) -> None:
    code = """
        answer = []
        for name in os.listdir("/proc/self/fd"):
            try:
                target = os.readlink(f"/proc/self/fd/{name}")
            except OSError:
                continue
            answer.append(target.split(":")[0])
    """
    assert {"socket", "anon_inode"}.isdisjoint(attack(box, code).answer)


def test_garbage_on_every_descriptor_does_not_confuse_the_host(box: Box) -> None:
    code = """
        for descriptor in range(3, 256):
            try:
                os.write(descriptor, b"\\0\\0\\0\\x02{}" * 100)
            except OSError:
                pass
        answer = "kept"
    """
    assert attack(box, code).answer == "kept"


@pytest.mark.parametrize("fill", ["00", "01", "02", "ff"])
def test_a_forged_result_is_at_most_a_wrong_answer_of_its_own(box: Box, fill: str) -> None:
    code = f"""
        for line in open("/proc/self/maps"):
            if "rw-s" in line:
                start, end = (int(bound, 16) for bound in line.split()[0].split("-"))
                ctypes.memset(start, 0x{fill}, end - start)
        os._exit(0)
    """
    result = attack(box, code)
    assert result.exit_status == 0
    assert not result.has_answer


def test_a_daemon_does_not_outlive_its_step(box: Box) -> None:
    marker = f"daemon-{os.getpid()}"
    code = f"""
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                    signal.signal(number, signal.SIG_IGN)
                os.execv("/bin/sh", ["sh", "-c", "sleep 1234; echo {marker}"])
            os._exit(0)
        os.wait()
        answer = "started"
    """
    assert attack(box, code).answer == "started"
    assert [process for process in psutil.process_iter(["cmdline"]) if marker in " ".join(process.info["cmdline"] or [])] == []


def test_system_v_and_file_traces_of_one_episode_are_not_found_by_the_next(box: Box) -> None:
    leave = """
        for folder in (os.getcwd(), os.environ["TMPDIR"], "/dev/shm"):
            try:
                open(folder + "/.hidden", "w").write("x")
                os.chmod(folder, 0o711)
                os.utime(folder, (4711, 4711))
            except OSError:
                pass
    """
    look = """
        answer = []
        for folder in (os.getcwd(), os.environ["TMPDIR"], "/dev/shm"):
            try:
                status = os.stat(folder)
                answer.append([os.listdir(folder) if folder != "/dev/shm" or os.getcwd() == "/work" else [], status.st_mtime == 4711])
            except OSError:
                pass
    """
    attack(box, leave)
    assert box.reset()
    assert all(entry == [[], False] for entry in attack(box, look).answer)


def test_stopping_itself_ends_at_the_wall_time(isolating: Backend, spec: BoxSpec) -> None:
    box = isolating.start(dataclasses.replace(spec, preload=(), limits=dataclasses.replace(spec.limits, wall_seconds=0.5)))
    assert box.run("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)").limits_hit == ("wall_seconds",)
    assert box.run("answer = 1").answer == 1
    box.close()


def test_a_file_in_the_work_folder_cannot_become_part_of_the_zygote(box: Box) -> None:
    modules = ("json", "os", "select", "answers", "traceback", "encodings", "sitecustomize", "numpy", "pandas", "io", "struct")
    box.run("\n".join(f"open('{name}.py', 'w').write('raise SystemExit(99)')" for name in modules))
    assert box.shell("true").exit_status == 0
    assert box.run("answer = 1").answer == 1


# --- once more, as somebody else ----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="these tests run as an ordinary user already")
@pytest.mark.skipif(shutil.which("bwrap") is None or shutil.which("setpriv") is None, reason="needs bwrap and setpriv")
def test_an_ordinary_user_is_as_safe() -> None:
    tests = Path(__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, USER, USER)
        command = [*accessible_python(USER), sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={folder}/base"]
        command += [str(tests / name) for name in ("test_attacks.py", "test_limits.py", "test_box.py", "test_files.py", "test_package_index.py")]
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, env=environment, cwd=tests.parent.parent, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
