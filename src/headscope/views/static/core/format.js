// Numbers as text: percent with one decimal in tables, whole percent in sentences, nats with two decimals.
export function tableNumber(value, share) {
  if (value === null || value === undefined) return "–";
  return share ? (100 * value).toFixed(1) : value.toFixed(2);
}

export function tableInterval(cell, share) {
  if (!cell || cell.low === null || cell.low === undefined) return "";
  return `${tableNumber(cell.low, share)}–${tableNumber(cell.high, share)}`;
}

export function percent(value) {
  if (value > 0 && value < 0.0005) return "under 0.1%";
  return `${(100 * value).toFixed(value >= 0.0995 || value === 0 ? 0 : 1)}%`;
}

// A divergence: three decimals, or two digits if it is smaller.
export function natsApart(value) {
  return `${value >= 0.001 || value === 0 ? value.toFixed(3) : value.toPrecision(2)} nats`;
}

// `unit`: of measures of any size, which have two digits; else nats.
export function amount(value, share, unit) {
  if (unit) return `${value === 0 ? 0 : value.toPrecision(2).replace(/e-(\d+)$/, " × 10^−$1")} ${unit}`;
  return share ? percent(value) : `${value.toFixed(2)} nats`;
}

// The first letter small, or large.
export function lower(text) {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

export function upper(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
