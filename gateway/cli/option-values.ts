import { InvalidArgumentError } from 'commander'

const SECONDS_MAX = 86_400

/** Reads an option that is a time in seconds, up to a day. */
export function seconds(text: string): number {
  const value = Number(text)
  if (value > 0 && value <= SECONDS_MAX) return value
  throw new InvalidArgumentError(`Give seconds, up to ${SECONDS_MAX}.`)
}
