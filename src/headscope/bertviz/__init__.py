"""BertViz's functions, drawn by headscope: change the import and keep the calls.

>>> from headscope.bertviz import head_view, model_view
>>> from headscope.bertviz.neuron_view import show

Layers, heads and positions are numbered from 0 here, as in BertViz; everywhere else in headscope from 1.
"""

from headscope.bertviz.showing import head_view, model_view

__all__ = ["head_view", "model_view"]
