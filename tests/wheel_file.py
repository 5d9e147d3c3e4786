"""A wheel of one module, made without any tool."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path


def write_wheel(folder: Path, name: str, version: str) -> tuple[Path, str]:
    """Write the wheel of a package whose module has `value = 7`; gives its path and SHA-256."""
    folder.mkdir(parents=True, exist_ok=True)
    module = name.replace("-", "_")
    path = folder / f"{module}-{version}-py3-none-any.whl"
    information = f"{module}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{module}.py", "value = 7\n")
        archive.writestr(f"{information}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{information}/RECORD", f"{module}.py,,\n{information}/METADATA,,\n{information}/WHEEL,,\n{information}/RECORD,,\n")
    return path, hashlib.sha256(path.read_bytes()).hexdigest()
