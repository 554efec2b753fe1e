// An axis of numbers: what it spans, where a value lies on it, its ticks and what stands at them; and which measures the axes
// have at first.
const MOST_TICKS = 6;
const WIDE = 50;
const NARROW = 2 / 3;
const LEAST_SPAN = 0.1;
const MARGIN = 0.04;

// The distance of ticks: 1, 2 or 5 times a power of ten.
function stepOf(low, high) {
  const rough = (high - low) / MOST_TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((times) => times * power).find((own) => own >= rough * (1 - 1e-9));
}

// Between round numbers that hold all values: from 0, but where that would leave most of the axis empty; no less than a
// tenth of the largest, so that what is all but equal looks so.
function linear(least, high) {
  const low = least > NARROW * high && least < high ? Math.min(least, (1 - LEAST_SPAN) * high) : Math.min(0, least);
  const step = stepOf(low, Math.max(high, 0));
  const [first, last] = [Math.floor(low / step + 1e-9), Math.ceil(Math.max(high, 0) / step - 1e-9)];
  const ticks = Array.from({ length: last - first + 1 }, (_, place) => Number(((first + place) * step).toPrecision(12)));
  return { from: ticks[0], to: ticks.at(-1), ticks, step };
}

function logTicks(low, high) {
  const decades = Math.log10(high / low);
  const times = decades > 3 ? [1] : [1, 3];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const own of times) {
      const value = Number((own * 10 ** power).toPrecision(12));
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) ticks.push(value);
    }
  }
  return ticks;
}

// As many decimals as tell neighboring ticks apart.
function percentText(step) {
  const decimals = Math.max(0, -Math.floor(Math.log10(100 * step) + 1e-9));
  return (tick) => `${(100 * tick).toFixed(decimals)}%`;
}

// The scale of some values (null where there is none): {log, ticks, text(tick), place(value): 0 to 1}. What is no share and
// spans more than a factor of 50 above 0 has a logarithmic one.
export function scaleOf(values, share) {
  const known = values.filter((value) => value !== null && value !== undefined);
  const [least, high] = known.some((value) => value !== 0) ? [Math.min(...known), Math.max(...known)] : [0, 1];
  const log = !share && least > 0 && high / least > WIDE;
  const plain = log ? null : linear(least, high);
  const [from, to] = log ? [Math.log(least), Math.log(high)] : [plain.from, plain.to];
  const margin = MARGIN * (to - from);
  const [begin, end] = [from - (log || from !== 0 ? margin : 0), to + margin];
  const place = (value) => ((log ? Math.log(value) : value) - begin) / (end - begin);
  return { log, ticks: log ? logTicks(least, high) : plain.ticks, text: share ? percentText(plain.step) : String, place };
}

// The names of two measures that some head has both of: the first that are wanted, else the first in the list, else what
// is wanted. `valuesOf(name)` has a number or null for each head.
export function firstAxes(wanted, names, valuesOf) {
  const both = (one, other) => {
    const [across, up] = [valuesOf(one), valuesOf(other)];
    return one !== other && across.some((value, index) => value !== null && up[index] !== null);
  };
  const order = (own) => [...own.filter((name) => names.includes(name)), ...names];
  for (const x of order(wanted.x)) {
    const y = order(wanted.y).find((name) => both(x, name));
    if (y) return { x, y };
  }
  return { x: names[0], y: names[1] || names[0] };
}
