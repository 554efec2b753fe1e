"""`headscope report --engine ray`, from the command line; a report by two workers is made in `hostile/`."""

import sys

import pytest

from headscope.installing import how_to_install
from support.commands import run_command


@pytest.fixture
def given(tmp_path):
    (tmp_path / "text.txt").write_text("The cat sat on the mat.\nIt slept.\n\nA dog came by.\nIt left.\n\n" * 6)
    return ("report", tmp_path / "text.txt", "--max-length", 32, "--quiet", "--out", tmp_path / "out")


def test_without_ray_it_is_said_how_to_install_it(given, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    code, out, err = run_command(*given, "--engine", "ray")
    assert (code, out) == (2, "")
    assert err == f"headscope: --engine ray needs Ray; {how_to_install('ray')}\n"
    assert "pip install" in how_to_install("ray")


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (("--engine", "spark"), "--engine 'spark' is not known; the only choice is ray"),
        (("--workers", "2"), "--workers says something of a cluster; give --engine ray with it"),
        (("--ray-address", "auto"), "--ray-address says something of a cluster; give --engine ray with it"),
        (
            ("--engine", "ray", "--shard", "1/2"),
            "--shard and --engine ray both divide the run; leave one of the two out",
        ),
        *(
            (
                ("--engine", "ray", option, "0"),
                f"invalid value for '{option}': Input should be greater than or equal to 1; headscope report --help "
                "lists what it takes",
            )
            for option in ("--workers", "--cpus-per-worker")
        ),
        (
            ("--engine", "ray", "--gpus-per-worker", "1.5"),
            "--gpus-per-worker 1.5: expected 0, a share such as 0.5, or a whole number",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(given, extra, words):
    code, out, err = run_command(*given, *extra)
    assert (code, out, err) == (2, "", f"headscope: {words}\n")


def test_saved_maps_are_read_at_once(tmp_path):
    (tmp_path / "index.json").touch()
    code, out, err = run_command("report", "--maps", tmp_path, "--engine", "ray")
    assert (code, out) == (2, "")
    assert err == (
        "headscope: --engine ray is for a model that reads text; saved maps are read at once: leave one of the two "
        "out\n"
    )


@pytest.mark.slow
def test_a_cluster_that_is_not_there(given):
    pytest.importorskip("ray", reason="Ray is not installed")
    code, out, err = run_command(*given, "--engine", "ray", "--ray-address", "127.0.0.1:1")
    assert (code, out) == (2, "")
    assert err == (
        "headscope: no Ray cluster could be used ([Errno 111] Connection refused); start one with ray start --head and "
        "give --ray-address its address, or leave it out for one on this machine\n"
    )
