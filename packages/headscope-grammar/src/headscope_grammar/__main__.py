"""`python -m headscope_grammar FILE`: write a treebank, the demonstration's where nothing else is asked for."""

import argparse
import sys
from pathlib import Path

from headscope.errors import HeadscopeError
from headscope_grammar.treebank import DEMO_DOCUMENTS, synthetic_documents, write_conllu


def main() -> int:
    """Read the command line and write the file; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m headscope_grammar", description=__doc__)
    parser.add_argument("file", type=Path, help="the CoNLL-U file to write")
    parser.add_argument("--documents", type=int, default=DEMO_DOCUMENTS, help="how many (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="another gives other documents (%(default)s)")
    given = parser.parse_args()
    try:
        write_conllu(synthetic_documents(given.documents, seed=given.seed), given.file)
    except HeadscopeError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
