import re
import xml.etree.ElementTree as ET

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

from headscope.present.figures import example_panel, save, statistic_panel
from headscope.present.figures.saving import pdf_bytes, png_bytes, svg_text
from headscope.present.figures.settling import settle
from support import mock_inputs


def panel():
    return statistic_panel(mock_inputs.encoder(2, 3).stats, "cls", kind="encoder")


def test_writes_svg_png_and_pdf_and_nothing_else(tmp_path):
    svg, png, pdf = save(panel(), tmp_path / "figures", "figure-9")
    names = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert names == ["figure-9.pdf", "figure-9.png", "figure-9.svg"]
    assert pdf.read_bytes().startswith(b"%PDF")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert ET.parse(svg).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_each_form_is_drawn_once(tmp_path, monkeypatch):
    """What was laid out when the labels were looked at is not laid out again for every form."""
    drawn = []
    draw = Figure.draw
    monkeypatch.setattr(Figure, "draw", lambda *args: (drawn.append(1), draw(*args))[1])
    figure = panel()
    settle(figure)
    before = len(drawn)
    assert before
    save(figure, tmp_path, "figure-9", forms=("svg", "png", "pdf"))
    # The look that every saving begins with, and three forms.
    assert len(drawn) == before + 1 + 3


def test_same_figure_gives_the_same_bytes():
    assert svg_text(panel()) == svg_text(panel())
    assert png_bytes(panel()) == png_bytes(panel())
    assert pdf_bytes(panel()) == pdf_bytes(panel())
    assert b"CreationDate" not in pdf_bytes(panel())


def test_no_setting_of_the_users_matplotlib_changes_a_figure():
    forms = (svg_text, png_bytes, pdf_bytes)
    plain = [form(panel()) for form in forms]
    others = {
        "text.usetex": True,
        "text.latex.preamble": r"\input{secret}",
        "lines.linewidth": 9,
        "lines.markersize": 30,
        "axes.labelsize": 25,
        "axes.prop_cycle": mpl.cycler(color=["red"]),
        "axes.unicode_minus": False,
        "axes.xmargin": 0.4,
        "figure.dpi": 37,
        "figure.constrained_layout.w_pad": 1.0,
        "savefig.bbox": "tight",
        "savefig.dpi": 20,
        "savefig.transparent": True,
        "svg.image_inline": False,
        "pdf.compression": 0,
        "path.sketch": (5, 100, 5),
    }
    with mpl.rc_context(others):
        assert [form(panel()) for form in forms] == plain
        assert mpl.rcParams["lines.linewidth"] == 9


def test_a_pdf_is_as_large_as_the_figure():
    figure = panel()
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", pdf_bytes(figure))
    assert [float(side) / 72 for side in box.groups()] == pytest.approx(figure.get_size_inches(), abs=0.01)


def test_text_stays_text_and_no_date_is_written():
    svg = svg_text(panel())
    words = [element.text for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert "layer" in words
    assert "[CLS]" in words
    assert "date" not in svg


def test_numbers_in_tokens_are_left_alone():
    row = mock_inputs.encoder(1, 1).examples.iloc[0].copy()
    row["tokens"] = ["3.14159265", *row["tokens"][1:]]
    assert ">3.14159265<" in svg_text(example_panel(row))


def test_hostile_tokens_give_a_well_formed_file():
    for _, row in mock_inputs.hostile().examples.iterrows():
        root = ET.fromstring(svg_text(example_panel(row)))
        assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
        assert "</script><script…" in [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_drawing_leaves_matplotlibs_settings_alone():
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    svg_text(panel())
    assert dict(mpl.rcParams) == before
