"""What every section of the report is made with: numbers in words, sentences, tables, links."""
