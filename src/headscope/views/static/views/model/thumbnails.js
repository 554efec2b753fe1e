// A head in small: its lines for a sentence, its map for a text.
import { edgesOf, lineOpacity } from "../head/edges.js";
import { pooledMap } from "../head_stats.js";
import { shadedPixels } from "../matrix/matrix_scene.js";

// Fainter lines cannot be seen at this size.
const FAINTEST_LINE = 0.05;
const MOST_POOLED = 64;
// Maximum number of tokens at which lines can be distinguished.
export const MOST_LINES = 48;

export function thumbnailOf(frame, head, lines) {
  const { weights, shown } = frame;
  return lines
    ? { edges: edgesOf(weights, [head], shown.query, shown.key, FAINTEST_LINE), rows: shown.query.length, columns: shown.key.length }
    : { map: pooledMap(weights, head, MOST_POOLED, shown.query, shown.key) };
}

export function paintThumbnail(surface, thumbnail, x, y, width, height, color, theme) {
  surface.rect(x, y, width, height, { fill: theme.card });
  if (thumbnail.map) {
    const { map } = thumbnail;
    const most = map.cells.reduce((top, cell) => Math.max(top, cell), 0);
    surface.pixels(shadedPixels(map.cells, most, theme, color), map.width, map.height, x, y, width, height);
    return;
  }
  const { edges, rows, columns } = thumbnail;
  const step = (height - 4) / Math.max(rows, columns, 1);
  const place = (row) => y + 2 + (row + 0.5) * step;
  for (let i = 0; i < edges.count; i++) {
    surface.lines([x + 4, place(edges.query[i]), x + width - 4, place(edges.key[i])], { color, opacity: lineOpacity(edges.weight[i]), width: 1 });
  }
}
