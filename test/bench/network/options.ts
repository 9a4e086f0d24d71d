import { parseArgs } from 'node:util'
import { wholeNumber } from '../options.ts'

export interface Options {
  /** Where the results go as JSON. */
  readonly json: string | undefined
  readonly networks: number
  /** In all, spread over the networks. */
  readonly ports: number
  /** Of these ports, plugged into each of the two hosts. */
  readonly plugged: number
  /** How often one more port, and one more rule, are measured. */
  readonly rounds: number
}

const LIMITS = { networks: 1_000, ports: 10_000, plugged: 500, rounds: 100 } as const

/** Reads the command line; throws an Error that says what is wrong with it. */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: 'string' },
      networks: { type: 'string', default: '100' },
      ports: { type: 'string', default: '1000' },
      plugged: { type: 'string', default: '100' },
      rounds: { type: 'string', default: '7' },
    },
  })
  const number = (name: keyof typeof LIMITS) => wholeNumber(name, values[name], LIMITS[name])
  const options = {
    ...{ json: values.json, networks: number('networks'), ports: number('ports') },
    ...{ plugged: number('plugged'), rounds: number('rounds') },
  }
  if (2 * options.plugged > options.ports)
    throw new Error('--plugged is of each of two hosts: give at most half of --ports')
  return options
}
