import pytest

from headscope.app.cli import main


@pytest.fixture
def cli(capsys):
    """Run the command line in this process: exit code, standard output, standard error."""

    def run(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return stopped.value.code, said.out, said.err

    return run
