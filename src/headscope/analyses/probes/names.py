"""What tables call the probes of section 5 that are no classes of parsers."""

RIGHT_BRANCHING, STRUCTURAL = "right-branching", "structural"
