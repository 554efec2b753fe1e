"""The explorer: a small local server with one page; type a sentence, see what the heads look at. Needs starlette."""
