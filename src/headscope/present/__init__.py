"""Pages from facts and templates: typed claims in, sentences, sections, charts, figures and tables out."""
