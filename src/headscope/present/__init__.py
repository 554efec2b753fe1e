"""Pages from facts and templates: typed claims in, sentences, sections, charts and tables out."""
