"""HTML for notebooks: one quiet style for everything that is shown, without scripts; what comes from users is escaped.

Text and lines take the color of the notebook, so that they are legible on light and on dark pages.
"""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Sequence

from similitude.support.text import printable

TONES = {"good": ("VALID", "PROVEN", "proven"), "bad": ("INVALID", "refuted", "NONE", "contradicted")}
"""Words that say how far something may be relied on, by their color; others are gray."""

_INK = "color-mix(in srgb,currentColor"
_STYLE = f"""
.similitude{{color:var(--jp-content-font-color1,var(--vscode-editor-foreground,inherit));max-width:100%;margin:.4em 0;
font-size:.92em;line-height:1.45;overflow-wrap:anywhere}}
.similitude .s-title{{font-weight:600;margin:.9em 0 .3em}}
.similitude>style+.s-title{{margin-top:0}}
.similitude sup,.similitude sub{{font-size:.75em;line-height:0}}
.similitude p,.similitude ul{{margin:.3em 0}}
.similitude ul{{padding-left:1.4em}}
.similitude .s-scroll{{overflow-x:auto;max-width:100%}}
.similitude table{{border-collapse:collapse;margin:.4em 0;table-layout:auto;font-size:1em;border:0}}
.similitude caption{{caption-side:top;text-align:left;padding:0 0 .2em;color:inherit;opacity:.75}}
.similitude tbody tr:nth-child(n),.similitude thead tr{{background:none}}
.similitude table td,.similitude table th{{text-align:left;vertical-align:top;padding:.15em .9em .15em 0;max-width:42em;
min-width:0;line-height:inherit;border:0;border-bottom:1px solid rgba(128,128,128,.3);white-space:normal;
font-weight:400;background:none;color:inherit}}
.similitude thead th,.similitude tbody th{{opacity:.75}}
.similitude table .s-number{{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}}
.similitude table .s-word{{overflow-wrap:normal}}
.similitude td:last-child:not(.s-number){{min-width:9em}}
.similitude pre{{margin:.3em 0;padding:0;overflow-x:auto;max-width:100%;background:none;color:inherit;border:0;
white-space:pre;font-size:.95em;line-height:1.4}}
.similitude .s-note,.similitude summary{{opacity:.75;margin:.2em 0}}
.similitude .s-tag{{border:1px solid;border-radius:.3em;padding:0 .35em;font-size:.85em;font-weight:600;
white-space:nowrap;opacity:.75}}
.similitude .s-good,.similitude .s-bad{{opacity:1}}
.similitude .s-good{{color:#1a7f37;color:{_INK} 45%,#2da44e)}}
.similitude .s-bad{{color:#b3261e;color:{_INK} 35%,#d93025)}}
.similitude .s-bar{{display:block;height:.8em;margin-top:.3em;border-radius:1px;min-width:1px}}
.similitude .s-for{{background:#3b7dd8}}
.similitude .s-against{{background:#d8743b}}
.similitude .s-room{{display:block;width:5em}}
.similitude .s-wide{{width:clamp(4em,18vw,8em);background:linear-gradient(rgba(128,128,128,.5),rgba(128,128,128,.5))
 center/1px 100% no-repeat}}
.similitude progress{{width:20em;max-width:100%;accent-color:#3b7dd8}}
.similitude svg,.similitude iframe{{max-width:100%}}
.similitude svg{{height:auto}}
""".replace("\n", "").replace(".similitude", ".similitude.similitude")  # twice: before the styles of the notebook


class Html(str):
    """HTML that was made here; every other text is escaped."""


def escaped(value: object) -> Html:
    r"""Escape a text for HTML, and show the marks that turn its direction; HTML that was made here stays."""
    return value if isinstance(value, Html) else Html(html.escape(printable(value)))


def card(title: object, *parts: object) -> str:
    """Return everything that is shown of one thing: a title and what follows, with the style."""
    inside = "".join([escaped(part) for part in parts])
    return f'<div class="similitude"><style>{_STYLE}</style>{heading(title)}{inside}</div>'


def heading(title: object) -> Html:
    """Return a title."""
    return Html(f'<div class="s-title">{escaped(shortened(title))}</div>')


def joined(*parts: object) -> Html:
    """Return texts and HTML, one after the other."""
    return Html("".join([escaped(part) for part in parts]))


def tag(word: str) -> Html:
    """Return a word in a frame, in the color of its meaning."""
    tone = "".join([f" s-{tone}" for tone, words in TONES.items() if word in words])
    return Html(f'<span class="s-tag{tone}">{escaped(word)}</span>')


def paragraph(text: object) -> Html:
    """Return a paragraph."""
    return Html(f"<p>{escaped(text)}</p>")


def notes(texts: Iterable[object]) -> Html:
    """Return notes, one below the other."""
    return Html("".join([f'<p class="s-note">{escaped(text)}</p>' for text in texts]))


def preformatted(text: str) -> Html:
    """Return lines of text whose columns are aligned; those beyond 60 are counted only."""
    lines = text.split("\n")
    if len(lines) > 60:
        lines[60:] = [f"and {len(lines) - 60:,} more lines"]
    return Html(f"<pre>{escaped(chr(10).join(lines))}</pre>")


def folded(text: str) -> Html:
    """Return the first line of a text, and the others, which are shown when they are asked for."""
    first, *others = text.split("\n")
    if not others:
        return escaped(first)
    count = f"{len(others)} more line{'s' * (len(others) > 1)}"
    return joined(
        first, Html(f"<details><summary>{count}</summary>"), preformatted("\n".join(others)), Html("</details>")
    )


def shortened(text: object, most: int = 400) -> object:
    """Return the first `most` letters of a text and the number of the others; HTML is returned unchanged."""
    if isinstance(text, Html) or len(str(text)) <= most:
        return text
    return f"{str(text)[:most]}… and {len(str(text)) - most:,} more letters"


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    numbers: Collection[int] = (),
    caption: str = "",
    noun: str = "rows",
    most: int = 12,
) -> Html:
    """Return a table of the first `most` rows; the others are counted, and `numbers` aligned to the right."""
    every = list(rows)
    kinds = [' class="s-number"' * (j in numbers) for j in range(len(heads))]
    above = "".join([f'<th scope="col"{kind}>{escaped(name)}</th>' for name, kind in zip(heads, kinds, strict=True)])
    body = ""
    for row in every[:most]:
        cells = [f"<td{kind}>{escaped(shortened(cell))}</td>" for cell, kind in zip(row, kinds, strict=True)]
        body += f"<tr>{''.join(cells)}</tr>"
    return _scrolled(caption, f"<thead><tr>{above}</tr></thead>", body, len(every) - most, noun)


def facts(pairs: Iterable[tuple[object, object]], caption: str = "", most: int = 40) -> Html:
    """Return names and values side by side: a table with a head for each row."""
    every = list(pairs)
    rows = [
        f'<tr><th scope="row" class="s-word">{escaped(name)}</th><td>{escaped(shortened(value))}</td></tr>'
        for name, value in every[:most]
    ]
    return _scrolled(caption, "", "".join(rows), len(every) - most, "rows")


def bullets(items: Iterable[object]) -> Html:
    """Return a list."""
    return Html("<ul>" + "".join([f"<li>{escaped(item)}</li>" for item in items]) + "</ul>")


def bar(share: float) -> Html:
    """Return a bar whose length is a share of its cell."""
    width = 100 * min(max(share, 0.0), 1.0)
    return Html(f'<span class="s-room"><span class="s-bar s-for" style="width:{width:.1f}%"></span></span>')


def progress_bar(done: int, total: int | None) -> Html:
    """Return a bar for how much of a total is done; nothing without a total."""
    return Html(f'<progress value="{done}" max="{total}"></progress>' if total else "")


def bar_from_middle(share: float) -> Html:
    """Return a bar from the middle of its cell: to the right if the share is positive, else to the left."""
    half = 50 * min(abs(share), 1.0)
    side = "for"
    left = 50.0
    if share < 0:
        side = "against"
        left -= half
    inside = f'<span class="s-bar s-{side}" style="margin-left:{left:.1f}%;width:{half:.1f}%"></span>'
    return Html(f'<span class="s-room s-wide">{inside}</span>')


def frame(page: str, title: str, height: int = 640) -> Html:
    """Return a whole page in a frame of its own, whose styles and scripts cannot reach the notebook."""
    held = html.escape(page, quote=True)
    return Html(
        f'<iframe srcdoc="{held}" sandbox="allow-scripts allow-downloads" title="{escaped(title)}" loading="lazy" '
        f'style="width:100%;height:{height}px;border:1px solid rgba(128,128,128,.3)"></iframe>'
    )


def _scrolled(caption: str, head: str, body: str, more: int, noun: str) -> Html:
    """Return a table that is scrolled if it is wider than its place, and a note on the rows that are not shown."""
    if caption:
        head = f"<caption>{escaped(caption)}</caption>{head}"
    table = Html(f'<div class="s-scroll"><table>{head}<tbody>{body}</tbody></table></div>')
    return joined(table, notes([f"and {more:,} more {noun}"] * (more > 0)))
