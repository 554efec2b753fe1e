// The layout of the head view: rows, columns, and a slot for each head inside a row.
export const TILE = 256;

// Height of a token's row: roomy for a sentence, tighter for a text.
export function rowStep(count) {
  return count > 48 ? 20 : count > 24 ? 22 : 24;
}

export function rowMiddle(place, step) {
  return place * step + step / 2;
}

// The widest that the head view is drawn: farther apart, lines cannot be followed from one side to the other.
export const WIDEST = 760;

// Widths of a row, left to right: share, label, lines, label, share. Labels get what they need, the lines the rest.
export function columnWidths(total, longest) {
  const share = total < 420 ? 36 : 44;
  const least = total < 420 ? 88 : 160;
  const most = Math.max(48, Math.floor((total - least - 2 * share) / 2));
  const label = Math.min(Math.ceil(longest), most, 220);
  const lines = total - 2 * (share + label);
  return { share, label, lines, width: lines + 2 * (share + label) };
}

// How far from its row's middle a head's lines end, so that heads on the same pair lie side by side.
export function slotOffset(head, heads, step) {
  if (heads < 2) return 0;
  const spread = Math.min(step - 6, 3 * (heads - 1));
  return (head / (heads - 1) - 0.5) * spread;
}

// Height of the part of a column that lies in tile `tile`.
export function tileSpan(tile, height) {
  return { top: tile * TILE, height: Math.max(0, Math.min(TILE, height - tile * TILE)) };
}

export function tileCount(height) {
  return Math.ceil(height / TILE);
}

// Width of one head's cell in the strip next to an attended token; 0 if the lines need the room.
export function stripCell(heads, lines) {
  const cell = heads <= 4 ? 8 : heads <= 8 ? 6 : heads <= 16 ? 4 : 2;
  return heads > 1 && cell * heads + 6 <= lines / 3 ? cell : 0;
}
