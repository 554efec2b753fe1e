// An axis of numbers from 0 upwards: where a value lies on it, and its ticks.
const MOST_TICKS = 6;
const WIDE = 50;
const MARGIN = 0.04;

// Ticks at 1, 2 or 5 times a power of ten.
function linearTicks(low, high) {
  const rough = (high - low) / MOST_TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((own) => own >= rough);
  const first = Math.ceil(low / step - 1e-9);
  const ticks = [];
  for (let place = first; place * step <= high * (1 + 1e-9); place++) ticks.push(Number((place * step).toPrecision(12)));
  return ticks;
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

// The scale of some values (null where there is none): {log, ticks, place(value): 0 to 1}. Shares have the whole axis; what
// spans more than a factor of 50 above 0 a logarithmic one.
export function scaleOf(values, share) {
  const known = values.filter((value) => value !== null && value !== undefined);
  const high = known.length ? Math.max(...known) : 1;
  const least = known.length ? Math.min(...known) : 0;
  const log = !share && least > 0 && high / least > WIDE;
  const [from, to] = log ? [Math.log(least), Math.log(high)] : [Math.min(0, least), share ? 1 : high || 1];
  const margin = MARGIN * (to - from || 1);
  const [begin, end] = [from - (log ? margin : least < 0 ? margin : 0), to + margin];
  const place = (value) => ((log ? Math.log(value) : value) - begin) / (end - begin);
  const ticks = log ? logTicks(least, high) : linearTicks(from, to);
  return { log, ticks, place };
}
