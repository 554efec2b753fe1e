"""`python -P -m headscope`; without `-P` Python imports from the current folder first."""

from headscope.app.entry import main

if __name__ == "__main__":
    main()
