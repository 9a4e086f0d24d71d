import { parseArgs } from 'node:util'
import { wholeNumber } from '../options.ts'
import type { Size } from './fill-federation.ts'

export interface Options extends Size {
  /** Where the results go as JSON. */
  readonly json: string | undefined
  /** For which each view is watched while events come. */
  readonly watchS: number
}

const LIMITS = { cells: 1_000, servers: 1_000_000, watchS: 600 } as const

/** Reads the command line; throws an Error that names the invalid option. */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: 'string' },
      cells: { type: 'string', default: '200' },
      servers: { type: 'string', default: '100000' },
      'watch-s': { type: 'string', default: '10' },
    },
  })
  return {
    json: values.json,
    cells: wholeNumber('cells', values.cells, LIMITS.cells),
    servers: wholeNumber('servers', values.servers, LIMITS.servers),
    watchS: wholeNumber('watch-s', values['watch-s'], LIMITS.watchS),
  }
}
