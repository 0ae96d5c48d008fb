"""How the documentation is built: ``make docs`` writes it to ``docs/_build/html``.

Pages are Markdown (MyST), the reference comes from docstrings (numpydoc). Notebooks and the pages
of ``benchmarks/results`` are copied into this folder first, with the outputs that they have:
nothing is run and nothing is fetched.
"""

import re
import shutil
import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

import gbrank

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "_ext"))

project = "gbrank"
author = "The gbrank developers"
copyright = author  # noqa: A001
version = release = gbrank.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "mathml",
]
exclude_patterns = ["_build", "**.ipynb_checkpoints"]
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "attrs_block"]
myst_heading_anchors = 4
nb_execution_mode = "off"

autosummary_generate = True
autodoc_typehints = "none"  # types stand in the docstrings, in words
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
default_role = "code"
python_use_unqualified_type_names = True

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "gbrank"
html_static_path = ["_static"]
html_css_files = ["gbrank.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "gbrank"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def bring_in(source: Path, target: Path, patterns: list[str]) -> None:
    """Copy files below ``source`` to ``target``, in place of what was there."""
    shutil.rmtree(target, ignore_errors=True)
    for path in sorted(path for pattern in patterns for path in source.glob(pattern)):
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix in (".md", ".ipynb"):
            place.write_text(with_links_of_the_site(path.read_text(encoding="utf-8")), "utf-8")
        else:
            shutil.copyfile(path, place)


def with_links_of_the_site(text: str) -> str:
    """Make links to what the site does not have plain names."""
    text = text.replace("(../benchmarks/results)", "(../benchmarks/index.md)")
    return re.sub(r"\[([^\]]+)\]\((\.\./[\w.]+\.py|[\w/]+\.json)\)", r"`\1`", text)


bring_in(ROOT / "notebooks", HERE / "notebooks", ["*.ipynb"])
bring_in(
    ROOT / "benchmarks" / "results",
    HERE / "benchmarks" / "results",
    ["*.md", "*.png", "*/*.md", "*/*.png", "*/figures/*.png"],
)


def setup(app: Sphinx) -> None:
    """Let links to the repository's own folders lead to their copies."""
    app.connect("source-read", point_to_copies)
    app.connect("doctree-read", unlink_metrics)
    app.connect("autodoc-skip-member", skip_inherited)
    before_numpydoc = 100
    app.connect("autodoc-process-docstring", keep_literals_whole, priority=before_numpydoc)


def point_to_copies(app: Sphinx, page: str, source: list[str]) -> None:
    """Make ``../benchmarks/results`` of a source file, right on disk, right in the site."""
    up = "../" * page.count("/")
    source[0] = re.sub(
        rf"\]\({re.escape(up)}\.\./(benchmarks/results|notebooks)/", rf"]({up}\1/", source[0]
    )


def unlink_metrics(app: Sphinx, tree: nodes.document) -> None:
    """Take back the links that docutils makes of ndcg@10, which looks like an address of mail."""
    for link in list(tree.findall(nodes.reference)):
        if link.get("refuri", "").startswith("mailto:"):
            link.replace_self(link.children)


def skip_inherited(
    app: Sphinx, what: str, name: str, thing: object, *others: object
) -> bool | None:
    """Leave out what scikit-learn gives to every estimator: its own pages document that."""
    return True if str(getattr(thing, "__module__", "")).startswith("sklearn.") else None


def keep_literals_whole(
    app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    """Join literals that break over lines; three dots in one do not end a summary's sentence."""
    for at in range(len(lines) - 2, -1, -1):
        if lines[at].count("``") % 2:
            lines[at : at + 2] = [f"{lines[at]} {lines[at + 1].lstrip()}"]
    lines[:1] = [line.replace("...", "…") for line in lines[:1]]
