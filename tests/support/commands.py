"""The command line in this process, for fixtures that outlive one test's capture."""

import io
from contextlib import redirect_stderr, redirect_stdout

import pytest

from headscope.app.cli.program import main


def run_command(*arguments: object) -> tuple[object, str, str]:
    """Run a command; return its exit code, its standard output and its standard error."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = ended.code
    return code, out.getvalue(), err.getvalue()


@pytest.fixture
def cli(capsys):
    """Run the command line in this process: exit code, standard output, standard error."""

    def run(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return stopped.value.code, said.out, said.err

    return run
