"""The declaration of figure 5's examples; they come from the stages syntax and coref, so this analysis has no stage."""

from headscope.scans.declarations.analysis import Analysis

ANALYSIS = Analysis(name="arc_examples", question="What do the best heads do on a sentence?", stages=(), terminal=None)
