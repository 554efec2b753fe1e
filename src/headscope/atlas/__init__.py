"""The head atlas: a card for each head, found on a map, by filters or by words."""
