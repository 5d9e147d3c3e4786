"""The system calls that code in a box may not make.

The filter permits what ordinary scientific code needs and denies whole families: other namespaces, tracing, kernel keyrings, asynchronous rings,
anonymous files, other address families, and whatever could starve or survive the zygote. The kernel interface (`man 2 seccomp`) is reached through
libseccomp.
"""

from __future__ import annotations

import errno
import os
import struct
from functools import lru_cache

from medagentgym.errors import InfrastructureError

AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10

# fmt: off
_DENIED = [
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "pidfd_getfd", "kcmp",
    "move_pages", "migrate_pages", "perf_event_open", "bpf", "userfaultfd", "memfd_create", "memfd_secret",
    "keyctl", "add_key", "request_key",
    "mount", "umount", "umount2", "pivot_root", "chroot", "unshare", "setns",
    "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
    "open_by_handle_at", "name_to_handle_at", "fanotify_init", "quotactl", "quotactl_fd",
    "shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv", "msgctl", "mq_open",
    "clock_settime", "clock_settime64", "clock_adjtime", "clock_adjtime64", "adjtimex", "settimeofday", "stime",
    "init_module", "finit_module", "delete_module", "create_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff",
    "acct", "syslog", "sethostname", "setdomainname", "vhangup",
    "iopl", "ioperm", "modify_ldt", "nfsservctl", "uselib", "ustat", "sysfs", "_sysctl", "lookup_dcookie", "vserver",
]
# fmt: on
_UNKNOWN = ["io_uring_setup", "io_uring_enter", "io_uring_register", "clone3"]
"""Denied as if the kernel did not know them: programs then take the older way."""
_UNSUPPORTED = ["setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat"]
"""File attributes would outlive an episode on a folder that stays, and those of the host's files say who may read them."""
_IGNORED = ["sync", "syncfs"]
"""They would flush the host's disks; there is nothing in a box to flush."""
# fmt: off
_OF_OWNERS = [
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "utime", "utimes", "futimesat", "utimensat",
]
# fmt: on
_OF_WATCHERS = ["inotify_init", "inotify_init1"]
"""They tell the names of files that cannot be read."""
_FILE_CONTROLS = (
    0x40086602,  # FS_IOC_SETFLAGS
    0x40046602,  # FS_IOC32_SETFLAGS
    0x40087602,  # FS_IOC_SETVERSION
    0x40047602,  # FS_IOC32_SETVERSION
    0x401C5820,  # FS_IOC_FSSETXATTR
    0x40806685,  # FS_IOC_ENABLE_VERITY
    0x800C6613,  # FS_IOC_SET_ENCRYPTION_POLICY
    0xC0506617,  # FS_IOC_ADD_ENCRYPTION_KEY
    0xC0406618,  # FS_IOC_REMOVE_ENCRYPTION_KEY
)
"""Requests that change attributes of a file of which it is enough to be the owner (`linux/fs.h`, `linux/fsverity.h`, `linux/fscrypt.h`)."""
_NAMESPACES = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
_TERMINAL_INPUT = (0x5412, 0x541C)
_WORD = 0xFFFFFFFF
_NEWEST = 461
"""Number of the newest system call that was considered (`lsm_list_modules`); numbers above 423 are the same on every architecture."""
_ERRNO_ACTION = 0x00050000


@lru_cache(maxsize=4)
def filter_program(*, own_network: bool, own_processes: bool, own_files: bool) -> bytes:
    """The filter as a classic BPF program (an array of `struct sock_filter`).

    `own_network`: the box has a network namespace, so that sockets reach nothing but the box; else sockets are denied altogether.
    `own_processes`: the zygote is PID 1 in a namespace of its own, and no step may change its limits or its schedule; else those of no other process.
    `own_files`: what a step can reach is its own or read-only; else changes of mode, owner and times are ignored (as if they had been made), because
    Landlock does not keep them within.
    Raises `InfrastructureError` where libseccomp is missing.
    """
    try:
        import pyseccomp as seccomp
    except (ImportError, OSError, RuntimeError) as error:
        raise InfrastructureError("sandbox", f"libseccomp cannot be loaded ({error}); install libseccomp2 and pyseccomp", fatal=True) from error

    rules = seccomp.SyscallFilter(seccomp.ALLOW)

    def deny(name: str, *conditions: object, code: int = errno.EPERM) -> None:
        if seccomp.resolve_syscall(seccomp.Arch.NATIVE, name) > 0:
            rules.add_rule(seccomp.ERRNO(code), name, *conditions)

    def word_is(position: int, value: int, mask: int = _WORD) -> object:
        return seccomp.Arg(position, seccomp.MASKED_EQ, mask, value)

    for name in _DENIED:
        deny(name)
    for name in _UNKNOWN:
        deny(name, code=errno.ENOSYS)
    for name in _UNSUPPORTED:
        deny(name, code=errno.EOPNOTSUPP)
    for name in _IGNORED:
        deny(name, code=0)
    for flag in _NAMESPACES:
        deny("clone", word_is(0, flag, flag))
    for request in (*_TERMINAL_INPUT, *_FILE_CONTROLS):
        deny("ioctl", word_is(1, request))
    if not own_network:
        deny("socket")
    for family in range(AF_INET6):
        if family not in (AF_UNIX, AF_INET):
            deny("socket", seccomp.Arg(0, seccomp.EQ, family), code=errno.EAFNOSUPPORT)
    deny("socket", seccomp.Arg(0, seccomp.GT, AF_INET6), code=errno.EAFNOSUPPORT)
    for name in ("prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"):
        deny(name, word_is(0, 1) if own_processes else seccomp.Arg(0, seccomp.NE, 0))
    for name in ("setpriority", "ioprio_set"):
        deny(name, word_is(1, 1) if own_processes else seccomp.Arg(1, seccomp.NE, 0))
    for group_or_user in (1, 2):
        deny("setpriority", word_is(0, group_or_user))
        deny("ioprio_set", word_is(0, group_or_user + 1))
    if not own_files:
        for name in _OF_OWNERS:
            deny(name, code=0)
        for name in _OF_WATCHERS:
            deny(name, code=errno.ENOSYS)
    return _newer_calls_denied() + _exported(rules)


def _newer_calls_denied() -> bytes:
    """Three instructions that answer `ENOSYS` to every call that is newer than this list."""
    load_number, jump_if_greater, answer = 0x20, 0x25, 0x06
    instructions = [(load_number, 0, 0, 0), (jump_if_greater, 0, 1, _NEWEST), (answer, 0, 0, _ERRNO_ACTION | errno.ENOSYS)]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)


def _exported(rules: object) -> bytes:
    descriptor = os.memfd_create("filter", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "r+b") as stream:
        rules.export_bpf(stream)  # type: ignore[attr-defined]
        stream.seek(0)
        return stream.read()
