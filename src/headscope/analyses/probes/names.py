"""The names in tables of the probes of section 5 that are not parser classes."""

RIGHT_BRANCHING, STRUCTURAL = "right-branching", "structural"
