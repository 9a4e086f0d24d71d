import { InvalidArgumentError } from 'commander'

/** Reads an option that is a whole number from `min` to `max`. */
export function upTo(max: number, min = 1): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (Number.isInteger(value) && value >= min && value <= max) return value
    throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`)
  }
}
