"""What a step does to itself where there is no box around it: Landlock on the file system and on signals, and a filter of system calls.

Loaded by the zygote beside `zygote.py`; standard library only. The calls and structures are those of `man 7 landlock` and `man 2 seccomp`; their
numbers are the same on every architecture.
"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Any

OLDEST_ABI = 6
"""The first version of Landlock that keeps signals and abstract sockets within (Linux 6.12)."""

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION_FLAG = 1
PATH_BENEATH = 1
SCOPE_ABSTRACT_SOCKETS, SCOPE_SIGNALS = 1, 2
ALL_NETWORK = 0b11

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = (1 << bit for bit in range(4))
MAKE_DEVICES = 1 << 6 | 1 << 11
"""Character and block devices."""
DEVICE_CONTROL = 1 << 15
TRUNCATE = 1 << 14
ALL_FILES = (1 << 16) - 1
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE

PR_SET_SECCOMP = 22
FILTER_MODE = 2

_RIGHTS = {
    "list": READ_DIR,
    "read": READ_FILE | READ_DIR,
    "run": EXECUTE | READ_FILE | READ_DIR,
    "use": READ_FILE | WRITE_FILE,
    "own": ALL_FILES & ~MAKE_DEVICES & ~DEVICE_CONTROL,
}
"""What the words of a confinement permit below a path."""


class _FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def landlock_abi() -> int:
    """The version of Landlock in this kernel; 0 where there is none."""
    library = ctypes.CDLL(None, use_errno=True)
    return max(0, int(library.syscall(ctypes.c_long(CREATE_RULESET), None, ctypes.c_size_t(0), ctypes.c_uint(VERSION_FLAG))))


class Confinement:
    """The rules for one box's steps: paths by the word that says what is permitted, and the filter program."""

    def __init__(self, paths: dict[str, list[str]], filter_program: bytes) -> None:
        self.paths = paths
        self.filter_program = filter_program
        self._library = ctypes.CDLL(None, use_errno=True)

    def apply(self) -> None:
        """Confine the calling process for good, and everything that it starts. Raises `OSError`."""
        ruleset = self._call(CREATE_RULESET, struct.pack("=QQQ", ALL_FILES, ALL_NETWORK, SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS), 24, 0)
        for word, paths in self.paths.items():
            for path in paths:
                self._permit(ruleset, path, _RIGHTS[word])
        self._permit(ruleset, f"/proc/{os.getpid()}", READ_FILE | READ_DIR)
        self._call(RESTRICT_SELF, ruleset, 0)
        os.close(ruleset)
        program = _FilterProgram(len(self.filter_program) // 8, self.filter_program)
        if self._library.prctl(PR_SET_SECCOMP, ctypes.c_ulong(FILTER_MODE), ctypes.byref(program), ctypes.c_ulong(0), ctypes.c_ulong(0)) != 0:
            raise OSError(ctypes.get_errno(), "the filter of system calls was refused")

    def _permit(self, ruleset: int, path: str, rights: int) -> None:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            if not os.path.isdir(f"/proc/self/fd/{descriptor}"):
                rights &= OF_FILES
            self._call(ADD_RULE, ruleset, PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
        finally:
            os.close(descriptor)

    def _call(self, number: int, *arguments: Any) -> int:
        converted = [ctypes.c_char_p(argument) if isinstance(argument, bytes) else ctypes.c_long(argument) for argument in arguments]
        result = int(self._library.syscall(ctypes.c_long(number), *converted))
        if result < 0:
            raise OSError(ctypes.get_errno(), "Landlock was refused")
        return result
