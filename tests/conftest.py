import os

# No test may reach a model hub; those that test the hub's code set up a server of their own.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
