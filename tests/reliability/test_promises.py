"""What SECURITY.md promises of the source, and what the wheel may hold."""

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from child_process import run_python

import gbrank

PACKAGE = Path(gbrank.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))

#: Modules that fetch, serve, unpickle or start programs, and which file may use one nevertheless.
FORBIDDEN_MODULES = {
    "ctypes", "dill", "ftplib", "http", "imp", "joblib", "marshal", "multiprocessing", "pickle",
    "requests", "runpy", "shelve", "smtplib", "socket", "socketserver", "ssl", "subprocess",
    "telnetlib", "urllib", "webbrowser", "xmlrpc",
}  # fmt: skip
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "import_module", "system", "popen"}
#: ``check_objective`` and ``check_metric`` pickle what they are handed, and unpickle that again.
EXCEPTIONS = {
    ("testing.py", "pickle"),
    ("_check.py", "pickle"),
    # The noise benchmark talks to processes that it started itself.
    ("runner.py", "multiprocessing"),
    ("worker.py", "multiprocessing"),
    # Threads of LightGBM's own OpenMP library, which is loaded already.
    ("team.py", "ctypes"),
}
#: The lazy package imports its own rooms, the command line what the user tells it to.
CALL_EXCEPTIONS = {
    ("__init__.py", "import_module"),
    ("core/extensions.py", "import_module"),
    ("cli/warm.py", "compile"),  # that of a Ranker
}


def imports_and_calls(source):
    """Return the modules that a file imports and the plain names of what it calls."""
    modules, calls = set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.Call):
            function = node.func
            owner = getattr(getattr(function, "value", None), "id", None)
            if isinstance(function, ast.Name):
                calls.add(function.id)
            elif isinstance(function, ast.Attribute) and owner not in ("re", "_OUR_LINE"):
                calls.add(function.attr)
    return modules, calls


def test_the_search_finds_what_it_looks_for():
    source = (
        "import urllib.request\nfrom pickle import loads\neval('1')\nimportlib.import_module(x)"
    )
    modules, calls = imports_and_calls(source)
    assert modules & FORBIDDEN_MODULES == {"urllib", "pickle"}
    assert calls & FORBIDDEN_CALLS == {"eval", "import_module"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_unpickling_no_eval_no_network(path):
    modules, calls = imports_and_calls(path.read_text(encoding="utf-8"))
    allowed = {module for name, module in EXCEPTIONS if name == path.name}
    assert not (modules & FORBIDDEN_MODULES) - allowed
    place = path.relative_to(PACKAGE).as_posix()
    assert not calls & FORBIDDEN_CALLS - {call for name, call in CALL_EXCEPTIONS if name == place}


def test_every_numpy_file_is_read_without_pickle():
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_load = isinstance(node, ast.Call) and ast.unparse(node.func) == "np.load"
            if is_load:
                keywords = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
                assert keywords.get("allow_pickle") == "False", f"{path}:{node.lineno}"


WATCHED = """
import sys
opened, connected = [], []

def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and set(arguments[1] or "") & set("wax+"):
        opened.append(arguments[0])
    elif event == "open" and isinstance(arguments[0], str) and arguments[2] & 3:
        opened.append(arguments[0])
    elif event in ("socket.connect", "socket.bind", "socket.getaddrinfo", "urllib.Request"):
        connected.append(arguments)

sys.addaudithook(watch)
sys.path.insert(0, sys.argv[1])
import os
from gbrank import Ranker
from small_fits import fit, small_data
data = small_data(0)
ranker = fit(0)
ranker.predict(data.X)
os.chdir(sys.argv[2])
ranker.save_model("model.txt")
Ranker.load_model("model.txt").score(data.X, data.y, qid=data.qid)
cache = os.environ["NUMBA_CACHE_DIR"]
own = ("/proc/", "/dev/", "/sys/", os.path.realpath(cache), cache, os.getcwd())
print([path for path in opened if not os.path.abspath(path).startswith(own)], connected)
"""


def test_a_training_writes_and_connects_nowhere(tmp_path):
    done = run_python(Path(__file__).parent, tmp_path, code=WATCHED, PYTHONDONTWRITEBYTECODE="1")
    assert done.stdout.strip() == "[] []"
    assert [path.name for path in tmp_path.iterdir()] == ["model.txt"]


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(tmp_path):
    root = PACKAGE.parent
    if not (root / "pyproject.toml").exists():
        pytest.skip("not a source tree")
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "-w", tmp_path, root]
    subprocess.run(list(map(str, build)), check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    metadata = f"gbrank-{gbrank.__version__}.dist-info/"
    modules = {name for name in names if not name.startswith(metadata)}
    expected = {str(path.relative_to(root)) for path in SOURCES} | {"gbrank/py.typed"}
    assert modules == expected
    wanted = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
    assert wanted <= {name.removeprefix(metadata) for name in names if name not in modules}
