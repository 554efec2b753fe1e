"""`python -m headscope`."""

from headscope.app.entry import main

if __name__ == "__main__":
    main()
