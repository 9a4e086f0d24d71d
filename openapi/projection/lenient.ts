import { isNode, type Node } from './annotations.ts'

/**
 * Converts values in spellings that Nova accepts beside the documented type (`"3"` for an integer, `"True"` for a
 * boolean, a number for text) into the documented one, if the schema has `x-lenient`. The validator refuses values
 * without such a reading.
 */
export type Coerce = (value: unknown) => unknown

/** Undefined when nothing in the schema is lenient, so that nothing need be walked. */
export function coercerFor(schema: unknown): Coerce | undefined {
  if (!isNode(schema)) return undefined
  if (schema['x-lenient'] === true) return (value) => coerceScalar(schema['type'], value)
  const branches = [schema['oneOf'], schema['anyOf'], schema['allOf']].flat().filter(isNode)
  const steps = [propertiesStep(schema), itemsStep(schema), ...branches.map(coercerFor)].filter(
    (step) => step !== undefined,
  )
  if (steps.length === 0) return undefined
  return (value) => steps.reduce((at, step) => step(at), value)
}

function propertiesStep(schema: Node): Coerce | undefined {
  const properties = isNode(schema['properties']) ? schema['properties'] : {}
  const steps = new Map<string, Coerce>()
  for (const [name, child] of Object.entries(properties)) {
    const step = coercerFor(child)
    if (step !== undefined) steps.set(name, step)
  }
  const others = coercerFor(schema['additionalProperties'])
  if (steps.size === 0 && others === undefined) return undefined
  return (value) => {
    if (!isNode(value)) return value
    const out = Object.entries(value).map(([name, child]) => {
      const step = steps.get(name) ?? (name in properties ? undefined : others)
      return [name, step === undefined ? child : step(child)]
    })
    return Object.fromEntries(out) as Node
  }
}

function itemsStep(schema: Node): Coerce | undefined {
  const step = coercerFor(schema['items'])
  if (step === undefined) return undefined
  return (value) => (Array.isArray(value) ? value.map(step) : value)
}

const TRUE = new Set(['true', '1', 'on', 'yes'])
const FALSE = new Set(['false', '0', 'off', 'no'])
const INTEGER = /^-?\d{1,15}$/
const NUMBER = /^-?\d{1,15}(\.\d{1,15})?$/

/** The documented reading of one value of this JSON Schema type, or the value itself. */
export function coerceScalar(type: unknown, value: unknown): unknown {
  const types: readonly unknown[] = Array.isArray(type) ? type : [type]
  if (typeof value === 'number') return types.includes('string') ? String(value) : value
  if (typeof value !== 'string') return value
  if (types.includes('integer') && INTEGER.test(value)) return Number(value)
  if (types.includes('number') && NUMBER.test(value)) return Number(value)
  if (types.includes('boolean')) return readBoolean(value)
  return value
}

function readBoolean(text: string): boolean | string {
  const word = text.toLowerCase()
  if (TRUE.has(word)) return true
  return FALSE.has(word) ? false : text
}
