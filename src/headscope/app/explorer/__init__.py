"""The explorer: a local server with a page on which to type a sentence and see heads attend. Needs starlette."""
