"""Building blocks of the report's sections: numbers in words, sentences, tables, links."""
