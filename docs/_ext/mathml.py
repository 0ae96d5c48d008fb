"""Formulas as MathML, made when pages are built: a reader loads no script and no font."""

import itertools
import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.writers.html5 import HTML5Translator

#: A bar that is not part of a command; those of a formula open and close in turn.
BAR = re.compile(r"(?<!\\)(?<!left)(?<!right)\|")
TAG = re.compile(r"\\tag\{([^}]*)\}")


def to_mathml(text: str, display: str) -> str:
    """Return the MathML of a formula; what cannot be converted is an error that shows it."""
    bars = itertools.cycle((r"\left|", r"\right|"))
    try:
        return convert(BAR.sub(lambda _: next(bars), text), display=display)
    except Exception as error:
        raise ExtensionError(f"no MathML for the formula {text!r}: {error!r}") from error


def visit_inline(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    writer.body.append(to_mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula that stands alone, with its number if it has one."""
    text = node.astext()
    tag = TAG.search(text)
    number = tag[1] if tag else node["number"]
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    writer.body.append(f'<span class="eqno">({number})</span>' if number else "")
    writer.body.append(f"<div>{to_mathml(TAG.sub('', text), 'block')}</div></div>")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, object]:
    """Take the place of MathJax."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_block, None)
    )
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
