"""Tokens that try to break out of a page's markup, and a parser that lists the elements of a page."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser

HARMLESS = "cat"


def tokens() -> Iterator[tuple[str, str]]:
    """Yield the name and text of each token."""
    yield from {
        "script-end": "</script><script>alert(1)</script>",
        "script-end-upper": "</SCRIPT ><svg onload=alert(1)>",
        "script-end-open": "</script",
        "comment": "<!--<script>",
        "comment-end": "--><img src=x onerror=alert(1)>",
        "cdata": "]]><script>alert(1)</script>",
        "title-end": "</title><script>alert(1)</script>",
        "style-end": "</style><img src=x onerror=alert(1)>",
        "noscript-end": "</noscript></main><iframe src=//evil.example>",
        "svg-end": "</text></svg><foreignObject><body onload=alert(1)>",
        "attribute": '" onmouseover="alert(1)',
        "attribute-single": "' onfocus='alert(1)' autofocus='",
        "attribute-bare": "x onclick=alert(1)",
        "backtick": "`onclick=alert(1)`",
        "address": "javascript:alert(1)",
        "data-address": "data:text/html,<script>alert(1)</script>",
        "css": "}body{background:url(//evil.example)}",
        "css-import": "@import '//evil.example';",
        "entity": "&lt;script&gt;alert(1)&lt;/script&gt;",
        "entity-numbered": "&#60;script&#62;alert(1)",
        "entity-open": "&amp",
        "entities": '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>&b;',
        "processing": "<?xml-stylesheet href='//evil.example'?>",
        "template": "${alert(1)}{{7*7}}<%= 7 %>",
        "mathtext": "$\\frac{1}{0$",
        "mathtext-broken": "$\\undefined{$ $",
        "json": '"},"kinds":[],"x":{"',
        "backslash": '\\u003cscript\\u003e\\"',
        "prototype": "__proto__",
        "nul": "a\x00<b\x00r>",
        "controls": "".join(map(chr, range(32))) + "\x7f\x80\x9f",
        "escape": "\x1b]0;a\x07\x1b[2J",
        "line-ends": "a\u2028b\u2029c\x85d\r\ne",
        "surrogate": "\ud800<b>\udfff",
        "beyond": "\U0010ffff\ufffe\uffff",
        "bom": "\ufeff<script>",
        "bidi": "\u202e\u2066<b>\u2069gpj.exe",
        "invisible": "\u200b\u200d\u2060\u00ad",
        "marks": "e" + "\u0301" * 500 + "<b>",
        "tags": "".join(chr(0xE0000 + ord(letter)) for letter in "<script>"),
        "wide": "＜script＞alert(1)＜/script＞",
        "utf-7": "+ADw-script+AD4-alert(1)",
        "long": "<b>" * 3000,
        "empty": "",
    }.items()


class Markup(HTMLParser):
    """Parse a page as a browser does: its elements and attributes, data and policy.

    Attributes:
        made_of: every element with the names of its attributes.
        values: values of attributes.
        data: each block of JSON, by id.
        scripts: scripts that run.
        policy: the content security policy.
    """

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.made_of: set[tuple[str, ...]] = set()
        self.values: list[str] = []
        self.data: dict[str, str] = {}
        self.scripts: list[str] = []
        self.policy = ""
        self._in: str | None = None
        self.feed(str(markup))
        self.close()

    def handle_starttag(self, tag, attrs):
        told = dict(attrs)
        self.made_of.add((tag, *sorted(told)))
        self.values += [value for value in told.values() if value is not None]
        if told.get("http-equiv") == "Content-Security-Policy":
            self.policy = told["content"]
        self._in = told.get("id") if told.get("type") == "application/json" else None
        if tag == "script" and self._in is None:
            self.scripts.append("")

    def handle_data(self, data):
        if self.lasttag != "script" or self.cdata_elem != "script":
            return
        if self._in is None:
            self.scripts[-1] += data
        else:
            self.data[self._in] = self.data.get(self._in, "") + data


def check_page(page: Markup, harmless: Markup) -> None:
    """Check that a page has the same elements, scripts and policy as the same page with a harmless token."""
    assert page.made_of <= harmless.made_of
    assert page.scripts == harmless.scripts
    assert page.policy == harmless.policy
    assert page.policy.startswith("default-src 'none'; ")
    assert list(page.data) == list(harmless.data)
    for block in page.data.values():
        assert not set("<>&\u2028\u2029\x00") & set(block)
        json.loads(block)
    assert not any(re.match(r"\s*(?:javascript|data):", value, re.IGNORECASE) for value in page.values)
