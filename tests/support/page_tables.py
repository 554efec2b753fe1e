"""A parser of a page's tables and visible text."""

from html.parser import HTMLParser


class Tables(HTMLParser):
    """Read {table id: rows of cell texts} and the visible text of a page."""

    def __init__(self, markup):
        super().__init__(convert_charrefs=True)
        self.found, self.table, self.cell, self.text, self.hidden = {}, None, None, "", 0
        self.feed(str(markup))

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.table = self.found[dict(attrs)["id"]] = []
        elif tag == "tr":
            self.table.append([])
        elif tag in ("td", "th"):
            self.cell = ""
        elif tag in ("script", "style"):
            self.hidden += 1

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.table[-1].append(self.cell)
            self.cell = None
        elif tag in ("script", "style"):
            self.hidden -= 1

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data
        if not self.hidden:
            self.text += data
