// SPDX-License-Identifier: Apache-2.0
// Numbers for people.

export const grouped = (value: number): string => Math.round(value).toLocaleString("en-US");

// 950, 12.3 k, 1.23 M
export function short(value: number): string {
  const [size, unit] = value >= 1e6 ? [1e6, " M"] : value >= 1e4 ? [1e3, " k"] : [1, ""];
  if (size === 1) return grouped(value);
  const scaled = value / size;
  return scaled.toFixed(scaled < 10 ? 2 : scaled < 100 ? 1 : 0) + unit;
}

// 12 s, 3 min 05 s, 1 h 02 min
export function duration(seconds: number): string {
  const s = Math.round(seconds);
  const two = (n: number) => String(n).padStart(2, "0");
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
  const minutes = Math.round(s / 60);
  return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
}

// A dash for what is not known.
export function known<T>(value: T | null | undefined, text: (value: T) => string): string {
  return value === null || value === undefined ? "–" : text(value);
}
