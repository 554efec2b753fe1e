"""`python -m headscope`."""

from headscope.app.cli import main

if __name__ == "__main__":
    main()
