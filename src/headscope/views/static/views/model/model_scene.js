// The model view as a drawing: a thumbnail a head, with the numbers of layers and heads, or each head's own.
import { paintThumbnail } from "./thumbnails.js";

const THUMB = 84;
const THUMB_GAP = 6;

export function modelScene({ cells, columns, named, caption, colorOf }) {
  const across = named ? Math.min(columns, Math.max(1, cells.length)) : columns;
  const rows = Math.ceil(cells.length / across);
  const [left, top] = named ? [0, 26] : [24, 44];
  const high = THUMB + THUMB_GAP + (named ? 14 : 0);
  return {
    width: left + across * (THUMB + THUMB_GAP),
    height: top + rows * high,
    title: caption,
    draw(surface, theme, margin) {
      surface.text(caption, margin, margin + 8, { color: theme.ink, most: this.width });
      cells.forEach(({ head }, i) => {
        const [column, row] = [i % across, Math.floor(i / across)];
        const [x, y] = [margin + left + column * (THUMB + THUMB_GAP), margin + top + row * high];
        if (head.thumbnail) paintThumbnail(surface, head.thumbnail, x, y, THUMB, THUMB, colorOf(head, theme), theme);
        surface.rect(x, y, THUMB, THUMB, { stroke: theme.line });
        if (named) surface.text(`${head.layer}-${head.head}`, x + THUMB / 2, y + THUMB + 8, { color: theme.soft, size: 11, anchor: "middle" });
        else if (row === 0) surface.text(String(head.head), x + THUMB / 2, y - 9, { color: theme.soft, size: 11, anchor: "middle" });
        if (!named && column === 0) surface.text(String(head.layer), x - 8, y + THUMB / 2, { color: theme.soft, size: 11, anchor: "end" });
      });
    },
  };
}
