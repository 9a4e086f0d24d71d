import { InvalidArgumentError } from 'commander'

/** Reads an option that is a whole number from 1 to `max`. */
export function upTo(max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (Number.isInteger(value) && value >= 1 && value <= max) return value
    throw new InvalidArgumentError(`Give a whole number from 1 to ${max}.`)
  }
}
