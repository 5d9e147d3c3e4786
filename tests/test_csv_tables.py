"""Tables that the workflow wrote itself: whole, or told to be damaged."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from medagentgym.csv_tables import read_csv_table
from medagentgym.errors import UserError
from medagentgym.scores import write_csv

ROWS = [{"name": 'a "quoted", text\nof two lines', "count": "1"}, {"name": "", "count": "2"}]


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    write_csv(pd.DataFrame(ROWS), tmp_path / "table.csv")
    assert read_csv_table(tmp_path / "table.csv", ["name"], "table", "") == ROWS


def test_wherever_a_table_is_cut_within_a_row_it_is_told(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    write_csv(pd.DataFrame(ROWS), path)
    text = path.read_text()
    ends = {text.index("\n") + 1, text.index(",2\n") - 2, len(text)}
    for end in range(len(text)):
        path.write_text(text[:end])
        if end in ends or text[:end].endswith(",1\n"):
            continue
        with pytest.raises(UserError, match=r"table\.csv: not a readable table \(.*\); make it again"):
            read_csv_table(path, ["name", "count"], "table", "make it again")


def test_a_missing_table_and_one_that_is_no_text_are_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"table\.csv: this table is not there; make it again"):
        read_csv_table(tmp_path / "table.csv", [], "table", "make it again")
    (tmp_path / "table.csv").write_bytes(b"name\n\xff\xfe\n")
    with pytest.raises(UserError, match=r"table\.csv: not a readable table"):
        read_csv_table(tmp_path / "table.csv", [], "table", "make it again")
