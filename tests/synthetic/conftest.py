"""Made-up data that the tests of this folder share."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from medagentgym.config import SyntheticConfig
from medagentgym.synthetic import generate

CONFIG = SyntheticConfig(patients=120, seed=3, train=300, test=300)


class MadeUp:
    """One generated folder."""

    def __init__(self, config: SyntheticConfig, folder: Path) -> None:
        self.config = config
        self.folder = folder

    def table(self, name: str, times: tuple[str, ...] = ()) -> pd.DataFrame:
        with gzip.open(self.folder / "raw" / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as stream:
            codes: Any = {"ICD9_CODE": str, "DOSE_VAL_RX": str}
            return pd.read_csv(stream, parse_dates=list(times), dtype=codes, low_memory=False)

    def questions(self, mode: str) -> list[dict[str, Any]]:
        return list(json.loads((self.folder / "questions" / f"{mode}.json").read_text(encoding="utf-8")))


@pytest.fixture(scope="session")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> MadeUp:
    folder = tmp_path_factory.mktemp("synthetic") / "made"
    generate(CONFIG, folder)
    return MadeUp(CONFIG, folder)
