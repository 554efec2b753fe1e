"""Attention on disk: headscope's own folders of maps, and the original's pickles."""
