"""Provenance of the numbers: short definitions, counts of inputs read and skipped, the signature."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from headscope.present.numbers import percent
from headscope.present.page_tables import scrolled
from headscope.present.words import Words, capital, count, plain
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.inference.significance import LARGE_SHARE, LEAST_ENTROPY, LEAST_LOSS
from headscope.statistics.roles import OTHERWISE, ROLES
from headscope.statistics.statistic import Term
from headscope.statistics.statistic_catalog import STATISTICS
from headscope.views.markup import Html, el


def definitions(words: Words, *, more: Sequence[tuple[str, str]] = ()) -> Html:
    """Return short definitions of all numbers; `more` are the terms of sections that not every run has."""
    entries = (
        *statistic_terms(words),
        ("Uniform", "the value of the statistic for uniform attention over all visible tokens"),
        ("Query token", "the attending token; the key token is the attended token"),
        ("Sink", f"a token that receives the attention that a head does not use: {words.cls}, {words.sep} or a "
         "learned sink"),
        ("Norm-weighted", "each weight times the norm of the vector that the head writes of the token, each row "
         "divided by its sum (Kobayashi et al. 2020)"),
        ("Nats", "the unit of entropy, divergence and loss, with natural logarithms; 1 nat is 1.44 bits"),
        ("Held out", "measured on documents that were not used to select or to fit"),
        ("Cross-fitted", "the head that halves of the documents select most often, scored on the halves that did not "
         "select it. The interval is widened by the distance to its value on all documents, a sign of selection bias"),
        ("All documents", "the head on all documents, including those that selected it: biased upwards if heads are "
         "nearly equal"),
        ("Random weights", "the same model with random weights, measured and selected in the same way; mean and range "
         "over seeds"),
        ("Average of a statistic", "over a segment’s rows, then over segments; n counts segments with such a row"),
        ("95% interval", "Student’s t over documents, shares by Wilson’s bound; none with fewer than "
         f"{FEWEST_DOCUMENTS} documents"),
        ("Role", f"the first condition that is true: {thresholds(words)}. Roles use averages; sentences use intervals"),
        ("Stands out", f"the interval lies above {percent(LARGE_SHARE)} and above twice uniform, at a false discovery "
         "rate of 5% over heads"),
        ("Worth a sentence", "significant at a false discovery rate of 5% over all sentences of a kind, and not too "
         f"small: {LEAST_LOSS:g} nats of loss, of a logit or between heads, "
         f"{LEAST_ENTROPY:g} nats of entropy, a point of a share"),
    )  # fmt: skip
    addressed: dict[str, tuple[str, str]] = {}
    for entry in (*entries, *more):
        address = term_address(entry[0])
        addressed[f"{address}-{len(addressed)}" if address in addressed else address] = entry
    terms = [
        el("div", el("dt", term, id=address), el("dd", meaning, ".")) for address, (term, meaning) in addressed.items()
    ]
    return el("dl", terms, id="glossary")


def term_address(term: str) -> str:
    """Return the address of a term in the list of definitions, without the `#`: `term-held-out`."""
    return f"term-{re.sub(r'[^a-z0-9]+', '-', term.lower()).strip('-')}"


def statistic_terms(words: Words) -> list[tuple[str, str]]:
    """Return the definitions of the statistics; statistics with a shared definition are listed once."""
    terms = [
        statistic.term or Term(name=capital(words.statistics[statistic.name]), says=statistic.meaning)
        for statistic in STATISTICS.values()
    ]
    return [(words.fill(term.name), words.fill(term.says)) for term in dict.fromkeys(terms)]


def thresholds(words: Words) -> str:
    """Return the threshold of each role, in the order in which they are tried."""
    parts = []
    tried = [role for role in ROLES.values() if role.statistic]
    for (above, of_uniform), group in groupby(tried, key=lambda role: (role.above, role.of_uniform)):
        roles = list(group)
        names = ", ".join(words.fill(role.listed) for role in roles)
        what = f", {words.statistics[roles[0].statistic]}" if of_uniform else ""
        parts.append(f"{names}{what} above {percent(above)}{' of uniform' if of_uniform else ''}")
    return "; ".join([*parts, f"else {words.roles[OTHERWISE]}"])


def counts(manifest: Mapping[str, Any]) -> list[Html]:
    """Return the numbers of inputs that were read, cut and skipped."""
    counted = manifest["counts"]
    used, all_documents = int(counted["documents_used"]), int(counted["documents"])
    out = [
        el(
            "p",
            f"Read {count(all_documents, 'document')}, used {used:,}: {count(int(counted['segments']), 'segment')}, "
            f"{count(int(counted['tokens']), 'token')}.",
        )
    ]
    cut, skipped = int(counted.get("truncated", 0)), int(counted.get("skipped", 0))
    why_skipped = dict(counted.get("skipped_why", {}))
    reasons = [f"{plain(reason)}: {int(number):,}" for reason, number in why_skipped.items()]
    if cut or skipped:
        why = f" ({'; '.join(reasons)})" if reasons else ""
        out.append(el("p", f"Inputs cut at the length limit: {cut:,}. Skipped: {skipped:,}{why}."))
    else:
        out.append(el("p", "Nothing was cut at the length limit or skipped."))
    notes = [plain(note) for note in manifest.get("notes", [])]
    return [*out, el("ul", [el("li", note) for note in notes])] if notes else out


def signature(manifest: Mapping[str, Any]) -> Html:
    """Return the signature, folded: everything that determines these numbers."""
    rows = [(name, plain(manifest.get(key, ""))) for name, key in (("command", "command"), ("made", "created"))]
    rows = [row for row in rows if row[1]]
    rows += _flat("", manifest["signature"])
    rows += [(f"timings {name}", str(value)) for name, value in dict(manifest.get("timings", {})).items()]
    rows.append(("tap", plain(manifest.get("tap", ""))))
    body = [el("tr", el("th", name, scope="row"), el("td", value, class_="words")) for name, value in rows]
    table = el("table", el("tbody", body), id="table-signature")
    name = plain(manifest["signature"].get("id", ""))
    return el("details", el("summary", f"Signature {name}"), scrolled(table, "Signature"))


def _flat(prefix: str, value: object) -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        return [row for key, inner in value.items() for row in _flat(f"{prefix} {plain(key)}".strip(), inner)]
    if value is None:
        return [(prefix, "none")]
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return [(prefix, plain(written))]
