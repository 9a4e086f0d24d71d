import { parseArgs } from 'node:util'
import { wholeNumber } from '../options.ts'
import { WATCH_S } from '../phases/idle.ts'

export interface Options {
  /** Where the results go as JSON. */
  readonly json: string | undefined
  readonly cells: number
  /** Of each cell. */
  readonly hosts: number
  /** Of each of two projects: one has all in one cell, the other in all the others. */
  readonly servers: number
  /** For which idle processes are watched. */
  readonly idleS: number
}

const LIMITS = { cells: 80, hosts: 100, servers: 100_000, idleS: 3_600 } as const

/** Reads the command line; throws an Error that names the invalid option. */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: 'string' },
      cells: { type: 'string', default: '50' },
      hosts: { type: 'string', default: '20' },
      servers: { type: 'string', default: '20000' },
      'idle-s': { type: 'string', default: String(WATCH_S) },
    },
  })
  return {
    json: values.json,
    cells: wholeNumber('cells', values.cells, LIMITS.cells),
    hosts: wholeNumber('hosts', values.hosts, LIMITS.hosts),
    servers: wholeNumber('servers', values.servers, LIMITS.servers),
    idleS: wholeNumber('idle-s', values['idle-s'], LIMITS.idleS),
  }
}
