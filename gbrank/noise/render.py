"""Blocks of the report, written as Markdown and as HTML.

A block is a tuple: its kind and what belongs to it. Kinds: ``section`` (id, title), ``heading``,
``text``, ``small``, ``list``, ``code``, ``figure`` (file, caption), ``table`` (caption, heads,
cells) and ``folded``, a table that is shown on demand.
"""

import base64
import html
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gbrank.noise.page import PAGE

Block = tuple[Any, ...]


def to_markdown(blocks: Iterable[Block]) -> str:
    """Return the blocks as Markdown; figures are linked."""
    lines: list[str] = []
    for kind, *parts in blocks:
        if kind == "section":
            lines += [f"## {_plain(parts[1])}", ""]
        elif kind == "heading":
            lines += [f"### {_plain(parts[0])}", ""]
        elif kind in ("text", "small"):
            lines += [_plain(parts[0]), ""]
        elif kind == "list":
            lines += [*(f"- {_plain(item)}" for item in parts[0]), ""]
        elif kind == "code":
            lines += [f"    {parts[0]}", ""]
        elif kind == "figure":
            lines += [f"![{_plain(parts[1])}](figures/{parts[0]}.png)", ""]
        else:
            caption, heads, body = parts
            rows = [list(map(_plain, row)) for row in (heads, ["---"] * len(heads), *body)]
            lines += [f"**{_plain(caption)}**", ""] if caption else []
            lines += [*("| " + " | ".join(row) + " |" for row in rows), ""]
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Return a text without tags, which Markdown would pass on, and without ends of cells."""
    return text.replace("<", "&lt;").replace("|", "\\|")


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
    made, is_open = [], False
    for kind, *parts in blocks:
        if kind == "section":
            made.append("</section>" if is_open else "")
            made.append(f'<section id="{html.escape(parts[0])}"><h2>{html.escape(parts[1])}</h2>')
            is_open = True
        elif kind == "heading":
            made.append(f"<h3>{html.escape(parts[0])}</h3>")
        elif kind == "text":
            made.append(f"<p>{html.escape(parts[0])}</p>")
        elif kind == "small":
            made.append(f"<p class=small>{html.escape(parts[0])}</p>")
        elif kind == "list":
            items = "".join(f"<li>{html.escape(item)}</li>" for item in parts[0])
            made.append(f"<ul>{items}</ul>")
        elif kind == "code":
            made.append(f"<pre>{html.escape(parts[0])}</pre>")
        elif kind == "figure":
            made.append(_figure(figures / f"{parts[0]}.svg", parts[1]))
        elif kind == "folded":
            caption = html.escape(parts[0])
            made.append(
                f"<details><summary>{caption}</summary>{_table(*parts, shown=False)}</details>"
            )
        else:
            made.append(_table(*parts))
    made.append("</section>" if is_open else "")
    return "".join(made)


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
