"""What pages are made of: one template, one style sheet, one set of scripts, for the report and the dashboard alike."""

import base64
import hashlib
import json
import re
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from restsure.report.drawing import PALETTE

DARK = ("#4DA8E0", "#F58A4B", "#35C79E", "#E79CC8", "#9AD3F7", "#F5BC4A", "#DDD04A", "#F0F2F4")
"""The colours of :data:`~restsure.report.plots.PALETTE`, lightened for dark paper."""

PLOTLY = "plotly.js"
"""The smallest of plotly's own bundles, as published (plotly.js-basic-dist-min 4.1.1): lines and bars."""

SHARED = ("words.js", "plots.js", "page.js")
"""The scripts of both pages, in the order in which they are loaded."""

_UNSAFE = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


@cache
def asset(name: str) -> str:
    """A file that comes with the package."""
    return files("restsure.report").joinpath("web", name).read_text(encoding="utf-8")


@cache
def style_ids() -> tuple[str, ...]:
    """Style elements that plotly makes unless they are there; a content security policy allows none that it makes."""
    return "plotly.js-style-global", *re.findall(r'getElementById\("([0-9a-f]{64})"\)', asset(PLOTLY))


def style_places() -> str:
    """Those, empty."""
    return "".join(f'<style id="{name}"></style>' for name in style_ids())


def palette() -> str:
    """Colours of candidates on light and on dark paper."""
    return embedded({"light": PALETTE, "dark": DARK})


def embedded(value: Any) -> str:
    """JSON that can stand in a script element: it cannot end it, nor a line."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).translate(_UNSAFE)


def digest(text: str) -> str:
    """The source of an inlined script or style, as a content security policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def page(**parts: str) -> str:
    """The template, filled with HTML; parts that are not given are empty."""
    wanted = dict.fromkeys(Template(asset("page.html")).get_identifiers(), "")
    return Template(asset("page.html")).substitute(wanted | parts)


def text(value: Any) -> str:
    """Text as HTML, its direction kept to itself."""
    return f"<bdi>{escape(str(value))}</bdi>"
