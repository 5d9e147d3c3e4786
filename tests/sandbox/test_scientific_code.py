"""Ordinary scientific code does not notice the box."""

from __future__ import annotations

import pytest

from medagentgym.sandbox import Backend, Box

PROGRAMS = {
    "asyncio": """
import asyncio
async def work(number):
    await asyncio.sleep(0.01)
    return number
async def main():
    process = await asyncio.create_subprocess_exec("echo", "child", stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    return [*await asyncio.gather(*map(work, range(3))), output.decode().strip()]
answer = asyncio.run(main())
assert answer == [0, 1, 2, "child"]
""",
    "multiprocessing": """
import multiprocessing
def square(number):
    return number ** 2
with multiprocessing.Pool(2) as pool:
    assert pool.map(square, range(10)) == [number ** 2 for number in range(10)]
queue = multiprocessing.Queue()
process = multiprocessing.Process(target=queue.put, args=("done",))
process.start()
assert queue.get() == "done"
process.join()
""",
    "shared memory": """
from multiprocessing import shared_memory
block = shared_memory.SharedMemory(create=True, size=1000)
block.buf[0] = 7
other = shared_memory.SharedMemory(block.name)
assert other.buf[0] == 7
other.close()
block.close()
block.unlink()
""",
    "process pool": """
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
with ProcessPoolExecutor(2) as pool, ThreadPoolExecutor(4) as threads:
    assert list(pool.map(abs, [-1, -2])) == list(threads.map(abs, [-1, -2])) == [1, 2]
""",
    "joblib": """
from joblib import Parallel, delayed
assert Parallel(n_jobs=2)(delayed(pow)(number, 2) for number in range(4)) == [0, 1, 4, 9]
""",
    "subprocess": """
import subprocess, sys
assert subprocess.run([sys.executable, "-c", "import numpy; print(numpy.arange(3).sum())"], capture_output=True, text=True).stdout == "3\\n"
""",
    "numpy and scipy with threads": """
import numpy, scipy.linalg, scipy.optimize, scipy.stats
from concurrent.futures import ThreadPoolExecutor
matrix = numpy.random.rand(200, 200)
with ThreadPoolExecutor(4) as pool:
    values = list(pool.map(lambda _: numpy.linalg.svd(matrix @ matrix.T, compute_uv=False)[0], range(8)))
assert len(set(values)) == 1
assert abs(scipy.optimize.brentq(lambda x: x * x - 2, 0, 2) - 2 ** 0.5) < 1e-9
assert scipy.stats.ttest_ind([1, 2, 3], [1, 2, 3]).pvalue == 1
""",
    "matplotlib to a file": """
import os
import matplotlib.pyplot as plt
figure, axes = plt.subplots()
axes.plot([1, 2, 3])
axes.set_title("title")
figure.savefig("figure.png")
plt.show()
assert os.path.getsize("figure.png") > 1000
""",
    "sqlite3 with a file": """
import sqlite3
connection = sqlite3.connect("own.sqlite")
connection.execute("PRAGMA journal_mode=WAL")
connection.execute("CREATE TABLE t (a)")
connection.executemany("INSERT INTO t VALUES (?)", [(number,) for number in range(1000)])
connection.commit()
assert connection.execute("SELECT sum(a) FROM t").fetchone() == (499500,)
""",
    "pandas with pyarrow": """
import pandas as pd
frame = pd.DataFrame({"name": ["a", "b", None], "value": [1.5, 2.5, 3.5], "time": pd.to_datetime(["2105-01-01"] * 3)})
frame.to_parquet("table.parquet")
assert pd.read_parquet("table.parquet").equals(frame)
frame.to_csv("table.csv.gz", index=False)
assert list(pd.read_csv("table.csv.gz", engine="pyarrow").columns) == ["name", "value", "time"]
""",
    "pickles and temporary files": """
import pickle, tempfile
class Local:
    value = 3
with tempfile.TemporaryDirectory() as folder, open(folder + "/p", "wb+") as stream:
    pickle.dump(Local(), stream)
    stream.seek(0)
    assert pickle.load(stream).value == 3
""",
    "dates of the shifted future": """
import datetime, pandas as pd
assert pd.Timestamp("2201-07-10 12:00:00") - pd.Timedelta(days=1) == pd.Timestamp(datetime.datetime(2201, 7, 9, 12))
""",
    "dataclasses, typing and inspection of the program's own source": """
import dataclasses, inspect, typing
@dataclasses.dataclass
class Row:
    value: "int"
def function():
    return 1
assert typing.get_type_hints(Row) == {"value": int}
assert "return 1" in inspect.getsource(function)
""",
}


NEED_SHARED_MEMORY = {"multiprocessing", "shared memory", "process pool"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_runs(backend: Backend, box: Box, name: str) -> None:
    if backend.name == "landlock" and name in NEED_SHARED_MEMORY:
        pytest.skip("the host's shared memory is closed to the box, and it has none of its own")
    result = box.run(PROGRAMS[name])
    assert result.exit_status == 0, result.stderr
    assert result.limits_hit == ()


def test_a_server_on_the_boxes_own_loopback_is_reached_from_within(box: Box) -> None:
    if box.work_folder != "/work":
        pytest.skip("the backend has no network of its own")
    code = """
import threading, urllib.request
from http.server import HTTPServer, SimpleHTTPRequestHandler
open("page", "w").write("hello")
server = HTTPServer(("127.0.0.1", 8080), SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
answer = urllib.request.urlopen("http://localhost:8080/page").read().decode()
"""
    result = box.run(code)
    assert result.answer == "hello", result.stderr


def test_a_package_installed_in_a_shell_is_there_for_the_rest_of_the_episode_and_no_longer(box: Box) -> None:
    write_wheel = """
import zipfile
with zipfile.ZipFile("inner-1-py3-none-any.whl", "w") as wheel:
    wheel.writestr("inner.py", "value = 5")
    wheel.writestr("inner-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: inner\\nVersion: 1\\n")
    wheel.writestr("inner-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("inner-1.dist-info/RECORD", "")
"""
    assert box.run(write_wheel).exit_status == 0
    installed = box.shell("python -m pip install --no-deps ./inner-1-py3-none-any.whl")
    assert installed.exit_status == 0, installed.stderr
    assert box.run("import inner\nanswer = inner.value").answer == 5
    assert box.shell("python -c 'import inner; print(inner.value)'").stdout == "5\n"
    assert box.reset()
    assert "ModuleNotFoundError" in box.run("import inner").stderr
