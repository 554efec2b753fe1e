"""The structural probe: distances in the tree from vectors of words, layer by layer."""
