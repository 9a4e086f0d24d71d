import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'

export interface Options {
  readonly minutes: number
  readonly seed: number
  readonly projects: number
  /** Where figures go as JSON. */
  readonly json: string | undefined
}

const MINUTES_MAX = 24 * 60
const PROJECTS_MAX = 20
const SEEDS = 2 ** 31

/** Reads the command line; throws an Error that names the invalid option. */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '5' },
      seed: { type: 'string', default: String(randomInt(SEEDS)) },
      projects: { type: 'string', default: '4' },
      json: { type: 'string' },
    },
  })
  return {
    minutes: number('minutes', values.minutes, MINUTES_MAX),
    seed: Math.floor(number('seed', values.seed, SEEDS)),
    projects: Math.floor(number('projects', values.projects, PROJECTS_MAX)),
    json: values.json,
  }
}

function number(name: string, text: string, max: number): number {
  const value = Number(text)
  if (text.trim() !== '' && value > 0 && value <= max) return value
  throw new Error(`--${name}: give a number above 0 and up to ${max}, not "${text}"`)
}
