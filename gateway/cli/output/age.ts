const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
] as const
const MS_PER_S = 1_000

/** How long ago, in the largest unit that fits: `12s`, `3h`. A clock that is behind shows `0s`. */
export function age(time: string | null, now: number): string | null {
  if (time === null) return null
  const passed = Math.max(0, now - Date.parse(time))
  const unit = UNITS.find(([, length]) => passed >= length)
  return unit === undefined
    ? `${Math.floor(passed / MS_PER_S)}s`
    : `${Math.floor(passed / unit[1])}${unit[0]}`
}
