"""The grammar behind the synthetic treebank: trees, lexicon, reference, constructions, documents."""
