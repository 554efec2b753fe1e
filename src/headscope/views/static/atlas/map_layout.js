// Where the map's marks and names are put: places in nats to places on the page, and names where there is room.
const SIDE = 12;

// Positions [x, y] in a box as wide as `width`, one scale for both ways, and the box's height between two bounds.
export function layOutMap(xs, ys, { width, least, most, mark }) {
  const known = xs.map((x, i) => (x === null || ys[i] === null ? null : i)).filter((i) => i !== null);
  const span = (values) => [Math.min(...known.map((i) => values[i])), Math.max(...known.map((i) => values[i]))];
  const [[left, right], [low, high]] = known.length ? [span(xs), span(ys)] : [[0, 1], [0, 1]];
  const edge = mark / 2 + SIDE;
  const across = Math.max(right - left, 1e-9);
  const up = Math.max(high - low, 1e-9);
  const scale = Math.min((width - 2 * edge) / across, (most - 2 * edge) / up);
  const height = Math.min(most, Math.max(least, up * scale + 2 * edge));
  const at = (value, from, to, size) => size / 2 + (value - (from + to) / 2) * scale;
  const places = xs.map((x, i) => (x === null || ys[i] === null ? null : [at(x, left, right, width), height - at(ys[i], low, high, height)]));
  return { places, height };
}

// A name beside its mark: right, left, above or below, the first that covers no mark and no other name; else none. Of
// several names of a mark, long ones first, the first that finds room is written.
// `order`: which name is placed first, where not all find room.
export function placeNames(names, places, { mark, letter, line, width, height }, order = names.map((_, i) => i)) {
  const half = mark / 2;
  const taken = places.filter(Boolean).map(([x, y]) => [x - half, y - half, x + half, y + half]);
  const free = (box) => box[0] >= 0 && box[1] >= 0 && box[2] <= width && box[3] <= height && taken.every((other) => box[2] <= other[0] || box[0] >= other[2] || box[3] <= other[1] || box[1] >= other[3]);
  const put = names.map(() => null);
  for (const i of order) {
    for (const name of [names[i]].flat()) put[i] = put[i] || placed(name, i);
  }
  return put;

  function placed(name, i) {
    if (!name || !places[i]) return null;
    const [x, y] = places[i];
    const long = name.length * letter;
    const tries = [
      [x + half + 5, y - line / 2, "start"],
      [x - half - 5 - long, y - line / 2, "end"],
      [x - long / 2, y - half - line - 2, "middle"],
      [x - long / 2, y + half + 4, "middle"],
    ];
    for (const [left, top, anchor] of tries) {
      const box = [left, top, left + long, top + line];
      if (!free(box)) continue;
      taken.push(box);
      return { name, x: anchor === "start" ? left : anchor === "end" ? left + long : left + long / 2, y: top + line / 2, anchor };
    }
    return null;
  }
}

// The mark to go to with an arrow key: the nearest within 45 degrees of that way, further off sideways counting double.
export function toward(places, from, key) {
  const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
  let best = null;
  let least = Infinity;
  places.forEach((place, index) => {
    if (!place || index === from) return;
    const [x, y] = [place[0] - places[from][0], place[1] - places[from][1]];
    const along = x * dx + y * dy;
    const aside = Math.abs(x * dy) + Math.abs(y * dx);
    if (along <= 0 || aside > along) return;
    const far = along + 2 * aside;
    if (far < least) [best, least] = [index, far];
  });
  return best;
}
