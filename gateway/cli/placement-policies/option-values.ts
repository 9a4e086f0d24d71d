import { InvalidArgumentError } from 'commander'
import type { components } from '#openapi/federation.gen.ts'

type Schemas = components['schemas']
type Effect = Schemas['Taint']['effect']

const EFFECTS: readonly string[] = ['NoSchedule', 'PreferNoSchedule'] satisfies readonly Effect[]
const TAINT = /^([^=:]+)(?:=([^=:]*))?(?::([^=:]+))?$/

/** Adds a label, `KEY=VALUE`, to those given before. Throws an `InvalidArgumentError`. */
export function label(text: string, before?: unknown): Readonly<Record<string, string>> {
  const [, key, value] = /^([^=]+)=([^=]*)$/.exec(text) ?? []
  if (key === undefined || value === undefined)
    throw new InvalidArgumentError('Give KEY=VALUE, such as site=berlin.')
  const others = typeof before === 'object' && before !== null ? before : {}
  return { ...others, [key]: value }
}

/** Adds a taint, `KEY[=VALUE]:EFFECT`, to those given before. Throws an `InvalidArgumentError`. */
export function taint(text: string, before?: unknown): readonly Schemas['Taint'][] {
  const [, key, value = '', effect] = TAINT.exec(text) ?? []
  if (key === undefined || !isEffect(effect))
    throw new InvalidArgumentError(
      `Give KEY=VALUE:EFFECT, such as dedicated=research:NoSchedule. Effects: ${EFFECTS.join(', ')}.`,
    )
  return [...listed<Schemas['Taint']>(before), { key, value, effect }]
}

/** Adds a toleration, `KEY[=VALUE][:EFFECT]`, to those given before. Throws an `InvalidArgumentError`. */
export function toleration(text: string, before?: unknown): readonly Schemas['Toleration'][] {
  const [, key, value = null, effect = null] = TAINT.exec(text) ?? []
  if (key === undefined || !(effect === null || isEffect(effect)))
    throw new InvalidArgumentError(
      `Give KEY, KEY=VALUE or KEY=VALUE:EFFECT, such as dedicated=research. Effects: ${EFFECTS.join(', ')}.`,
    )
  return [...listed<Schemas['Toleration']>(before), { key, value, effect }]
}

/**
 * Adds an entry of a preference to those given before: `KEY=VALUE` or the name of a cell, several of them with commas, or `*`.
 * Throws an `InvalidArgumentError`.
 */
export function selector(text: string, before?: unknown): readonly Schemas['CellSelector'][] {
  const parts = text === '*' ? [] : text.split(',')
  if (parts.includes(''))
    throw new InvalidArgumentError(
      "Give KEY=VALUE or the name of a cell, several with commas, or '*'.",
    )
  const labels = parts.flatMap((part) => (part.includes('=') ? Object.entries(label(part)) : []))
  const entry = {
    cells: parts.filter((part) => !part.includes('=')),
    labels: Object.fromEntries(labels),
  }
  return [...listed<Schemas['CellSelector']>(before), entry]
}

/** Reads `cell` or `zone`, with `:MAX_SKEW` and `:required` behind it. Throws an `InvalidArgumentError`. */
export function spread(text: string): Schemas['Spread'] {
  const [, over, skew = '1', required] = /^(cell|zone)(?::(\d{1,4})(:required)?)?$/.exec(text) ?? []
  if (over !== 'cell' && over !== 'zone')
    throw new InvalidArgumentError('Give cell or zone, such as cell, zone:2 or cell:1:required.')
  return { over, max_skew: Number(skew), is_required: required !== undefined }
}

/** Adds a limit, `servers=N`, `vcpus=N` or `memory_mb=N`, to those given before. Throws an `InvalidArgumentError`. */
export function limit(text: string, before?: unknown): Schemas['CellLimits'] {
  const [, name, amount] = /^(servers|vcpus|memory_mb)=(\d{1,9})$/.exec(text) ?? []
  if (name === undefined)
    throw new InvalidArgumentError('Give servers=N, vcpus=N or memory_mb=N, such as servers=10.')
  const others = typeof before === 'object' && before !== null ? before : {}
  return { ...others, [name]: Number(amount) }
}

const COST_WEIGHT_MAX = 1_000

/** Reads a cost weight. Throws an `InvalidArgumentError`. */
export function costWeight(text: string): number {
  const value = Number(text)
  if (text !== '' && value >= 0 && value <= COST_WEIGHT_MAX) return value
  throw new InvalidArgumentError(`Give a number from 0 to ${COST_WEIGHT_MAX}.`)
}

function isEffect(text: string | undefined): text is Effect {
  return text !== undefined && EFFECTS.includes(text)
}

/** What a repeated option was given before; the value of its `--no-` form is none. */
function listed<Value>(before: unknown): readonly Value[] {
  return Array.isArray(before) ? (before as readonly Value[]) : []
}
