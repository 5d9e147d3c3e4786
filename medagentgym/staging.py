"""Folders that are built whole or not at all."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def staged_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder beside `folder` that takes its place when the block ends, and is removed when the block fails.

    What an earlier, killed build of the same folder left behind is removed first. The folder is private to its user.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(folder)
    staging = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.", suffix=".partial"))
    lock = os.open(staging, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield staging
        _replace(staging, folder)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    finally:
        os.close(lock)


def _replace(staging: Path, folder: Path) -> None:
    if not folder.exists():
        staging.rename(folder)
        return
    replaced = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.", suffix=".partial"))
    folder.rename(replaced / folder.name)
    staging.rename(folder)
    shutil.rmtree(replaced)


def _remove_abandoned(folder: Path) -> None:
    """Remove temporary folders of builds that no longer run: nobody holds their lock."""
    for abandoned in folder.parent.glob(f".{folder.name}.*.partial"):
        lock = os.open(abandoned, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            shutil.rmtree(abandoned, ignore_errors=True)
        finally:
            os.close(lock)
