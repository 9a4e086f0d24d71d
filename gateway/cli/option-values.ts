import { InvalidArgumentError } from 'commander'

const SECONDS_MAX = 86_400
const MS_PER_UNIT: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/** Reads an option that is a time in seconds, up to a day. Throws an `InvalidArgumentError`. */
export function seconds(text: string): number {
  const value = Number(text)
  if (value > 0 && value <= SECONDS_MAX) return value
  throw new InvalidArgumentError(`Give seconds, up to ${SECONDS_MAX}.`)
}

/** Reads an option that is a number of things. Throws an `InvalidArgumentError`. */
export function count(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value >= 1) return value
  throw new InvalidArgumentError('Give a whole number of 1 or more.')
}

/** Reads an option that is a whole number, also none. Throws an `InvalidArgumentError`. */
export function wholeNumber(text: string): number {
  const value = Number(text)
  if (text !== '' && Number.isInteger(value) && value >= 0) return value
  throw new InvalidArgumentError('Give a whole number of 0 or more.')
}

/** Reads an option that is a length of time (`90s`, `30m`, `1h`, `1d`), as seconds. Throws an `InvalidArgumentError`. */
export function duration(text: string): number {
  const [, amount, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (amount !== undefined) return (Number(amount) * MS_PER_UNIT[unit]!) / MS_PER_UNIT['s']!
  throw new InvalidArgumentError('Give a time such as 30m, 1h or 1d.')
}

/** Reads an option that is an instant, or how long ago it was (`90s`, `10m`, `2h`, `3d`), as an ISO 8601 text. Throws an `InvalidArgumentError`. */
export function instant(text: string): string {
  const [, amount, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const ago = Number(amount) * (MS_PER_UNIT[unit] ?? 0)
  const at =
    amount === undefined ? Date.parse(text) : performance.timeOrigin + performance.now() - ago
  if (!Number.isNaN(at)) return new Date(at).toISOString()
  throw new InvalidArgumentError(
    'Give a time such as 2026-01-31T12:00:00Z, or an age such as 10m, 2h or 3d.',
  )
}
