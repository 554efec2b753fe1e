"""The names in tables of those probes of section 5 that are no classes of parsers."""

RIGHT_BRANCHING, STRUCTURAL = "right-branching", "structural"
