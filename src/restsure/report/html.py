"""One self-contained file about a run: no network, and all of it readable without JavaScript, but for the plots."""

import platform
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from restsure import __version__
from restsure.problem import amount
from restsure.report.assets import PLOTLY, SHARED, asset, digest, embedded, page, palette, style_places, text
from restsure.report.story import story_of
from restsure.training import Recorded, Result

_HEADINGS = ("candidate", "state", "steps", "last losses", "predicted at the end", "spent on it", "why")


def save_report(path: Path | str, run: Result | Recorded) -> Path:
    """Write the report of a run, and say where it is."""
    path = Path(path)
    path.write_text(report(story_of(run)), encoding="utf-8")
    return path


def report(story: dict[str, Any]) -> str:
    """The page of a story."""
    library, script, style = _closed(asset(PLOTLY)), _closed(_script()), asset("page.css")
    head = story["head"]
    title = head["title"] or "Selection"
    made = f"restsure {__version__}, Python {platform.python_version()}"
    return page(
        kind="report",
        policy=f'<meta http-equiv="Content-Security-Policy" content="{_policy([library, script], [style, ""])}">',
        title=escape(title),
        styles=f"<style>{style}</style>\n{style_places()}",
        state=escape(head["state"]),
        sentence=_sentence(story),
        tiles="".join(f"<div><dt>{what}</dt><dd>{value}</dd></div>" for what, value in _tiles(story)),
        certificate=escape((head["certificate"] or {}).get("text") or ""),
        explanation=escape(story.get("explanation") or head["no_beliefs"]),
        columns=_row(_HEADINGS, cell="th", scope="col"),
        candidates="\n".join(_candidate(story, arm) for arm in range(len(story["candidates"]))),
        log="\n".join(_line(story, line) for line in story["log"]),
        notes="".join(f"<li>{text(note)}</li>" for note in _notes(story)),
        hide_notes="" if _notes(story) else " hidden",
        configuration="".join(
            f"<tr><th scope=row>{text(a)}</th><td>{text(b)}</td></tr>" for a, b in story["configuration"]
        ),
        footer=f"This file is complete: it loads nothing from elsewhere. Written by {escape(made)}.",
        scripts=f'<script type="application/json" id="palette">{palette()}</script>\n'
        f'<script type="application/json" id="story">{embedded(story)}</script>\n'
        f"<script>{library}</script>\n<script>{script}</script>",
    )


def _script() -> str:
    return "\n".join(asset(name) for name in (*SHARED, "report.js"))


def _closed(script: str) -> str:
    """A script that cannot end its element early; such text is in strings only."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """Nothing but what is in the file: scripts and styles by their hashes, pictures that plotly makes of its plots."""
    allowed = " ".join(map(digest, scripts)), " ".join(map(digest, styles))
    return (
        f"default-src 'none'; script-src {allowed[0]}; style-src {allowed[1]}; img-src data: blob:; base-uri 'none'; "
        f"form-action 'none'"
    )


def _sentence(story: dict[str, Any]) -> str:
    head, leader = story["head"], story["head"]["leader"]
    sofar = "" if head["state"] == "over" else "As things stand, "
    name = "" if leader is None else story["candidates"][leader]["name"]
    if not name or not head["sentence"].startswith(name):
        return escape(head["sentence"])
    return f"{sofar}<b>{text(name)}</b>{escape(head['sentence'].removeprefix(name))}"


def _tiles(story: dict[str, Any]) -> list[tuple[str, str]]:
    head, leader = story["head"], story["head"]["leader"]
    tiles = list[tuple[str, str]]()
    if leader is not None:
        best, what = story["candidates"][leader], "winner" if head["state"] == "over" else "best so far"
        tiles.append((what, f"{text(best['name'])}<small>{best['steps']:,} training steps</small>"))
    if head["loss"] is not None:
        loss, low, high = ("unknown" if value is None else f"{value:.4g}" for value in head["loss"])
        tiles.append(("its loss", f"{loss}<small>{low} to {high}</small>"))
    spent, budget = amount(round(head["spent"], 1)), amount(head["budget"])
    return [*tiles, ("spent", f"{spent}<small>of {budget} {escape(head['unit'])}</small>")]


def _candidate(story: dict[str, Any], arm: int) -> str:
    row = story["candidates"][arm]
    predicted = ["unknown" if value is None else f"{value:.4g}" for value in row["predicted"] or ()]
    cells = [
        row["state"],
        f"{row['steps']:,}",
        "" if row["last_loss"] is None else f"{row['last_loss']:.4g}",
        f"{predicted[0]} ({predicted[1]} to {predicted[2]})" if predicted else "",
        f"{row['cost']:,.6g}",
        "; ".join(why for why in (row["why"], row["misfit"]) if why),
    ]
    best = ' class="winner"' if arm == story["head"]["leader"] else ""
    return (
        f'<tr{best}><th scope="row">{text(row["name"])}</th>{"".join(f"<td>{text(cell)}</td>" for cell in cells)}</tr>'
    )


def _line(story: dict[str, Any], line: dict[str, Any]) -> str:
    names = [story["candidates"][arm]["name"] for arm in (line["arm"], line["rival"]) if arm is not None]
    who = " against ".join(map(text, names))
    return f"<tr><td>{line['spent']:,.6g}</td><td>{text(line['kind'])}</td><td>{who}</td><td>{text(line['text'])}</td></tr>"


def _notes(story: dict[str, Any]) -> list[str]:
    failed = [row for row in story["candidates"] if row["state"] == "failed"]
    return [*(f"{row['name']}: failed: {row['why']}" for row in failed), *story["notes"]]


def _row(cells: Sequence[str], *, cell: str, scope: str) -> str:
    return f"<tr>{''.join(f'<{cell} scope={scope}>{escape(each)}</{cell}>' for each in cells)}</tr>"
