"""A generative grammar of English: documents with exact trees and coreference, for the demonstration and tests."""

from headscope_grammar.treebank import conllu_lines, synthetic_documents, write_conllu

__version__ = "1.0.0"
__all__ = ["conllu_lines", "synthetic_documents", "write_conllu"]
