"""Blocks of the report, written as Markdown and as HTML.

A block is a tuple: its kind and what belongs to it. Kinds: ``section`` (id, title), ``heading``,
``text``, ``small``, ``list``, ``code``, ``figure`` (file, caption), ``table`` (caption, heads,
cells) and ``folded``, a table that is shown on demand.
"""

import base64
import html
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from gbrank.noise.page import PAGE

Block = tuple[Any, ...]


def to_markdown(blocks: Iterable[Block]) -> str:
    """Return the blocks as Markdown; figures are linked."""
    lines = [line for kind, *parts in blocks for line in (*_MARKDOWN[kind](*parts), "")]
    return "\n".join(lines)


def _markdown_table(caption: str, heads: list[str], body: list[list[str]]) -> list[str]:
    rows = [list(map(_plain, row)) for row in (heads, ["---"] * len(heads), *body)]
    title = [f"**{_plain(caption)}**", ""] if caption else []
    return [*title, *("| " + " | ".join(row) + " |" for row in rows)]


def _plain(text: str) -> str:
    """Return a text without tags, which Markdown would pass on, and without ends of cells."""
    return text.replace("<", "&lt;").replace("|", "\\|")


#: The lines of each kind of block.
_MARKDOWN: dict[str, Callable[..., list[str]]] = {
    "section": lambda _, title: [f"## {_plain(title)}"],
    "heading": lambda text: [f"### {_plain(text)}"],
    "text": lambda text: [_plain(text)],
    "small": lambda text: [_plain(text)],
    "list": lambda items: [f"- {_plain(item)}" for item in items],
    "code": lambda text: [f"    {text}"],
    "figure": lambda file, caption: [f"![{_plain(caption)}](figures/{file}.png)"],
    "table": _markdown_table,
    "folded": _markdown_table,
}


def whole_page(title: str, lead: str, blocks: list[Block], figures: Path) -> str:
    """Return blocks as one HTML page with everything in it, and a list of its sections."""
    contents = "".join(
        f'<li><a href="#{html.escape(block[1])}">{html.escape(block[2])}</a></li>'
        for block in blocks
        if block[0] == "section"
    )
    return PAGE.format(
        title=html.escape(title),
        lead=html.escape(lead),
        contents=contents,
        body=to_html(blocks, figures),
    )


def to_html(blocks: Iterable[Block], figures: Path) -> str:
    """Return the blocks as HTML; figures are read from a folder and put in."""
    made, end = [], ""
    for kind, *parts in blocks:
        if kind == "section":
            made.append(end)
            end = "</section>"
        if kind == "figure":
            parts[0] = figures / f"{parts[0]}.svg"
        made.append(_HTML[kind](*parts))
    return "".join([*made, end])


def _figure(path: Path, caption: str) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    said = html.escape(caption)
    return (
        f'<figure><img alt="{said}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{said}</figcaption></figure>"
    )


def _table(caption: str, heads: list[str], body: list[list[str]], *, shown: bool = True) -> str:
    head = "".join(f"<th>{html.escape(text)}</th>" for text in heads)
    rows = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in body)
    said = f"<caption>{html.escape(caption)}</caption>" if shown and caption else ""
    return (
        f"<div class=wide><table>{said}<thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cell(text: str) -> str:
    kind = " class=up" if "▲" in text else " class=down" if "▼" in text else ""
    return f"<td{kind}>{html.escape(text)}</td>"


def _folded(caption: str, heads: list[str], body: list[list[str]]) -> str:
    table = _table(caption, heads, body, shown=False)
    return f"<details><summary>{html.escape(caption)}</summary>{table}</details>"


def _items(texts: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{html.escape(text)}</li>" for text in texts) + "</ul>"


#: The text of each kind of block.
_HTML: dict[str, Callable[..., str]] = {
    "section": lambda name, title: (
        f'<section id="{html.escape(name)}"><h2>{html.escape(title)}</h2>'
    ),
    "heading": lambda text: f"<h3>{html.escape(text)}</h3>",
    "text": lambda text: f"<p>{html.escape(text)}</p>",
    "small": lambda text: f"<p class=small>{html.escape(text)}</p>",
    "list": _items,
    "code": lambda text: f"<pre>{html.escape(text)}</pre>",
    "figure": _figure,
    "table": _table,
    "folded": _folded,
}
