import base64
import hashlib
import re

from headscope.views import Page, assemble, el


def page():
    return assemble(
        Page(
            title="</title><script>alert(1)</script>", body=[el("main", "hello")],
            data={"data": {"kinds": []}, "maps": {}}, entry="report/report.js",
        )
    )  # fmt: skip


def test_policy_loads_nothing_and_runs_only_the_pages_script():
    markup = page()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', markup)
    (script,) = re.findall(r'<script type="module">(.*?)</script>', markup, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.replace("&#x27;", "'") == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def test_policy_comes_before_anything_it_governs():
    markup = page()
    assert markup.index("Content-Security-Policy") < markup.index("<style")


def test_title_is_text():
    markup = page()
    assert "<title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;</title>" in markup
    assert "<script>" not in markup


def test_nothing_is_linked_from_elsewhere():
    markup = page()
    assert not re.search(r'\b(?:src|href)="(?!#)', markup)


def test_a_page_without_script_allows_none():
    markup = assemble(Page(title="t", body=[]))
    assert "script-src &#x27;none&#x27;" in markup
    assert "<script" not in markup
