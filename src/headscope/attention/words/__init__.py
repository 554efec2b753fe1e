"""From attention between pieces to attention between words."""
