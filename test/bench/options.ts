import { parseArgs } from 'node:util'

export const PHASES = [
  'idle',
  'first',
  'token',
  'get',
  'administrator',
  'list',
  'pages',
  'storms',
  'network',
  'networks',
  'connections',
  'batch',
  'contention',
  'volumes',
  'traces',
  'memory',
] as const
/** What takes more than some minutes, or another deployment, is measured when asked for. */
const USUAL = PHASES.filter((phase) => phase !== 'memory' && phase !== 'traces')
export type Phase = (typeof PHASES)[number]

export interface Options {
  /** Where the results go as JSON. */
  readonly json: string | undefined
  readonly phases: readonly Phase[]
  /** Of the boot and delete storms. */
  readonly servers: number
  /** Runs of each side per read, and per storm. */
  readonly rounds: number
  readonly stormRounds: number
  /** How many are booted, and deleted, while memory is watched. */
  readonly boots: number
}

const LIMITS = { servers: 1_000, rounds: 100, boots: 1_000_000 } as const

/** Reads the command line; throws an Error that names the invalid option. */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: 'string' },
      phases: { type: 'string', default: USUAL.join(',') },
      servers: { type: 'string', default: '500' },
      rounds: { type: 'string', default: '3' },
      'storm-rounds': { type: 'string', default: '3' },
      boots: { type: 'string', default: '10000' },
    },
  })
  return {
    json: values.json,
    phases: values.phases.split(',').map(phaseOf),
    servers: wholeNumber('servers', values.servers, LIMITS.servers),
    rounds: wholeNumber('rounds', values.rounds, LIMITS.rounds),
    stormRounds: wholeNumber('storm-rounds', values['storm-rounds'], LIMITS.rounds),
    boots: wholeNumber('boots', values.boots, LIMITS.boots),
  }
}

function phaseOf(name: string): Phase {
  const phase = PHASES.find((each) => each === name)
  if (phase === undefined) throw new Error(`--phases: ${name} is none of ${PHASES.join(', ')}`)
  return phase
}

/** Throws an Error where the option is no whole number from 1 to `max`. */
export function wholeNumber(name: string, text: string, max: number): number {
  const value = Number(text)
  if (Number.isInteger(value) && value >= 1 && value <= max) return value
  throw new Error(`--${name}: give a whole number from 1 to ${max}`)
}
