// SPDX-License-Identifier: Apache-2.0
// The points of the plots, and the maths of an axis.

// Appends points. One with a smaller step replaces those at and behind it: the run went back, or the server sent all again.
export function append<Point extends { step: number }>(all: Point[], points: Point[]): void {
  for (const point of points) {
    while (all.length > 0 && all[all.length - 1].step >= point.step) all.pop();
    all.push(point);
  }
}

// Means of the points of about `count` stretches of equal length, so that many points can be drawn as a line.
export function thinned(points: [number, number][], count: number): [number, number][] {
  if (points.length <= 2 * count) return points;
  const first = points[0][0], length = points[points.length - 1][0] - first;
  const sums: [number, number, number][] = [];
  for (const [x, y] of points) {
    const at = Math.min(count - 1, Math.floor(((x - first) / length) * count));
    const sum = (sums[at] ??= [0, 0, 0]);
    sum[0] += x;
    sum[1] += y;
    sum[2] += 1;
  }
  return sums.filter(Boolean).map(([x, y, n]) => [x / n, y / n]);
}

// Round numbers within [low, high]: at most `count` of them, at equal distances of 1, 2 or 5 times a power of ten.
export function ticks(low: number, high: number, count: number): number[] {
  if (!(high > low) || count < 1) return [];
  const least = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= least * (1 - 1e-9))!;
  const found: number[] = [];
  // Multiples, and not a running sum, so that errors do not add up.
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) found.push(Number((i * step).toPrecision(12)));
  return found.slice(0, count + 1);
}

// Round numbers within [low, high] for a logarithmic axis: 1, 2 and 5 times the powers of ten, or these alone if there are many.
export function logTicks(low: number, high: number): number[] {
  const all: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power) {
    for (const m of [1, 2, 5]) all.push(Number((m * 10 ** power).toPrecision(3)));
  }
  const within = all.filter((t) => t >= low && t <= high);
  return within.length > 6 ? within.filter((t) => Number.isInteger(Math.log10(t))) : within;
}
