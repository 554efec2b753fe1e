"""The command line in this process, for fixtures that outlive one test's capture."""

import io
from contextlib import redirect_stderr, redirect_stdout

from headscope.app.cli import main


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
