"""Words: the lexicon, their forms, and how they are drawn for a document."""
