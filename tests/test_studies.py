"""Studies of cBioPortal are laid out as CSV files."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pandas as pd
import pytest

from medagentgym.errors import UserError
from medagentgym.studies import Study, find_studies, lay_out, table_name, table_names

CLINICAL = '#Patient\tAge\n#Patient\tAge\n#STRING\tNUMBER\n#1\t1\nPATIENT_ID\tAGE\tNOTE\nP1\t61\tsays "a, b"\nP2\t\t\nP3\t70\n\n'
MUTATIONS = "#version 2.4\nHugo_Symbol\tn\nTP53\t2\n#KRAS\t1\n"


def study_folder(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "data_clinical_patient.txt").write_text(CLINICAL)
    (folder / "data_mutations.txt").write_text(MUTATIONS)
    (folder / "meta_study.txt").write_text("name: x\n")
    (folder / "LICENSE").write_text("ODbL\n")
    (folder / "case_lists").mkdir()
    (folder / "case_lists" / "cases_all.txt").write_text("stable_id: x\n")
    return folder


def archive(path: Path, folder: Path, *extra: tuple[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as out:
        out.add(folder, arcname=folder.name)
        for name, content in extra:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            out.addfile(member, io.BytesIO(content))
    return path


def test_tables_are_written_without_the_lines_above_their_header(tmp_path: Path) -> None:
    study = Study("s", study_folder(tmp_path / "s"))
    assert lay_out(study, tmp_path / "out") == table_names(study) == ["data_clinical_patient.csv", "data_mutations.csv"]
    table = pd.read_csv(tmp_path / "out" / "data_clinical_patient.csv")
    assert table.columns.tolist() == ["PATIENT_ID", "AGE", "NOTE"]
    assert table["NOTE"].tolist()[0] == 'says "a, b"' and len(table) == 3
    assert (tmp_path / "out" / "data_mutations.csv").read_text() == "Hugo_Symbol,n\nTP53,2\n#KRAS,1\n"


def test_an_archive_gives_the_same_as_its_folder(tmp_path: Path) -> None:
    folder = study_folder(tmp_path / "s")
    lay_out(Study("s", folder), tmp_path / "of_folder")
    lay_out(Study("s", archive(tmp_path / "s.tar.gz", folder)), tmp_path / "of_archive")
    for path in (tmp_path / "of_folder").iterdir():
        assert (tmp_path / "of_archive" / path.name).read_bytes() == path.read_bytes()


def test_an_archive_writes_nowhere_but_into_the_folder(tmp_path: Path) -> None:
    harmful = ("../../data_evil.txt", b"a\tb\n1\t2\n"), ("s/deep/er/data_deep.txt", b"a\n1\n"), ("/etc/data_root.txt", b"a\n1\n")
    path = archive(tmp_path / "s.tgz", study_folder(tmp_path / "s"), *harmful)
    names = lay_out(Study("s", path), tmp_path / "out" / "inner")
    assert sorted(found.name for found in tmp_path.rglob("data_*.csv") if "inner" not in found.parts) == []
    assert "data_deep.csv" not in names


def test_csv_files_are_taken_as_they_are_and_unpacked(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "data_cna.csv").write_bytes(b"Hugo_Symbol,A\r\nTP53,-2\r\n")
    with gzip.open(folder / "data_sv.csv.gz", "wb") as stream:
        stream.write(b"a,b\n1,2\n")
    with gzip.open(folder / "expression.xena.gz", "wb") as stream:
        stream.write(b"sample\tx\nS1\t0.5\n")
    assert lay_out(Study("s", folder), tmp_path / "out") == ["data_cna.csv", "data_sv.csv", "expression.csv"]
    assert (tmp_path / "out" / "data_cna.csv").read_bytes() == b"Hugo_Symbol,A\r\nTP53,-2\r\n"
    assert (tmp_path / "out" / "expression.csv").read_text() == "sample,x\nS1,0.5\n"


def test_studies_of_a_folder_are_found_by_name(tmp_path: Path) -> None:
    study_folder(tmp_path / "first")
    archive(tmp_path / "second.tar.gz", tmp_path / "first")
    (tmp_path / "tasks.jsonl").write_text("{}\n")
    assert sorted(find_studies(tmp_path, "data.raw_path")) == ["first", "second"]
    archive(tmp_path / "first.tgz", tmp_path / "first")
    with pytest.raises(UserError, match="holds study first twice"):
        find_studies(tmp_path, "data.raw_path")


def test_what_is_wrong_with_a_study_is_told_in_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    with pytest.raises(UserError, match="holds no table"):
        lay_out(Study("s", folder), tmp_path / "out1")
    (folder / "data_x.txt").write_text("a\tb\n1\t2\t3\n")
    with pytest.raises(UserError, match=r"data_x\.txt, line 2: has 3 cells, and the header 2"):
        lay_out(Study("s", folder), tmp_path / "out2")
    (folder / "data_x.txt").write_text("# only a comment\n")
    with pytest.raises(UserError, match="holds no header"):
        lay_out(Study("s", folder), tmp_path / "out3")
    (folder / "data_x.txt").write_bytes(b"a\tb\n\xff\xfe\t1\n")
    with pytest.raises(UserError, match="not UTF-8"):
        lay_out(Study("s", folder), tmp_path / "out4")
    broken = tmp_path / "broken.tar.gz"
    broken.write_bytes(b"no archive")
    with pytest.raises(UserError, match="cannot be unpacked"):
        lay_out(Study("s", broken), tmp_path / "out5")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"<!DOCTYPE html>\n<html></html>\n", "line 1: a web page, not a table"),
        (b"# one\nID\tAGE\tID\n1\t2\t3\n", "line 2: column ID occurs more than once"),
        (b"ID\tAGE\n1\t2\n3\t\0\n", "line 3: a character NUL"),
        (b"ID\tAGE\n1\t2\n3", "line 3: the file ends in the middle of a row"),
    ],
)
def test_a_damaged_table_of_a_study_is_one_line_with_file_and_line(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "data_x.txt").write_bytes(content)
    with pytest.raises(UserError, match=rf"s: data_x\.txt, {says}.*; get the study again"):
        lay_out(Study("s", tmp_path / "s"), tmp_path / "out")


def test_what_is_called_like_a_table_and_is_no_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "s" / "data_x.txt").mkdir(parents=True)
    with pytest.raises(UserError, match=r"data_x\.txt: should be a table and is no file; get the study again"):
        lay_out(Study("s", tmp_path / "s"), tmp_path / "out")
    with tarfile.open(tmp_path / "t.tar", "w") as packed:
        link = tarfile.TarInfo("t/data_x.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        packed.addfile(link)
    with pytest.raises(UserError, match=r"t/data_x\.txt should be a table and is no file"):
        lay_out(Study("t", tmp_path / "t.tar"), tmp_path / "out")
    assert not list(tmp_path.rglob("data_x.csv"))


@pytest.mark.parametrize(
    ("file", "table"),
    [
        ("data_mutations.txt", "data_mutations.csv"),
        ("data_log2_cna.csv", "data_log2_cna.csv"),
        ("meta_cna.txt", None),
        ("LICENSE", None),
        (".hidden.txt", None),
        ("available_table_paths.json", None),
    ],
)
def test_tables_are_told_by_their_names(file: str, table: str | None) -> None:
    assert table_name(file) == table


@pytest.mark.shared_data
def test_the_real_study_is_taken_as_it_is(shared_data: Path, tmp_path: Path) -> None:
    study = find_studies(shared_data / "biodsbench", "data.raw_path")["acbc_mskcc_2015"]
    names = lay_out(study, tmp_path / "out")
    assert len(names) == 6
    for name in names:
        assert (tmp_path / "out" / name).read_bytes() == (study.path / name).read_bytes()
