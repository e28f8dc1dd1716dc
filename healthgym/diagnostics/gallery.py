"""`write_gallery`: pictures with words as one self-contained HTML page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from healthgym.toolkit import Picture

STYLE = (
    "body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:76rem;padding:0 1rem;color:#1c1e21;background:#fafafa}"
    "h1{font-size:1.4rem}h2{font-size:1.1rem;margin:2rem 0 .4rem;border-top:1px solid #ddd;padding-top:1rem}"
    "figure{display:inline-block;margin:.4rem .8rem .4rem 0;vertical-align:top;max-width:100%}"
    "img{display:block;max-width:100%;border:1px solid #ccc;background:#000}"
    "figcaption{font-size:.82rem;color:#555;max-width:24rem}pre{white-space:pre-wrap;font-size:.85rem}"
    "table{border-collapse:collapse}td{padding:.1rem .8rem .1rem 0;vertical-align:top;font-size:.9rem}td:first-child{color:#555}"
)


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One part of a gallery: a heading, pictures, a table of facts, and text as it stands."""

    heading: str
    pictures: Sequence[Picture] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""


def gallery_html(title: str, panels: Sequence[Panel]) -> str:
    """Return the page. Pictures are inside it as PNG, so that it can be sent on as one file."""
    body = "".join(_panel(panel) for panel in panels)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head><body><h1>{escape(title)}</h1>{body}</body></html>\n"
    )


def write_gallery(path: str | Path, title: str, panels: Sequence[Panel]) -> Path:
    """Write the page and return its path; folders on the way are made."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(gallery_html(title, panels), encoding="utf-8")
    return target


def _panel(panel: Panel) -> str:
    figures = "".join(
        f'<figure><img src="{picture.block["url"]}" alt="{escape(picture.caption, quote=True)}">'
        f"<figcaption>{escape(picture.id)}: {escape(picture.caption)}</figcaption></figure>"
        for picture in panel.pictures
    )
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(str(value))}</td></tr>" for name, value in panel.facts.items()
    )
    table = f"<table>{rows}</table>" if rows else ""
    text = f"<pre>{escape(panel.text)}</pre>" if panel.text else ""
    return f"<section><h2>{escape(panel.heading)}</h2>{figures}{text}{table}</section>"
