import * as fc from 'fast-check'
import { isNode } from '#openapi/projection/annotations.ts'

/** Values that are somewhere right and mostly wrong. */
const POISON: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, '', ' ', [], {}, [null], [[]], {
    nested: { deep: [1] },
  }),
  fc.constantFrom(0, -1, 1.5, 2 ** 31, 2 ** 53, -(2 ** 63), 1e308, 1e-320),
  fc.constantFrom(
    '0',
    '-1',
    '1e9',
    'true',
    'null',
    '%',
    "'; --",
    '../..',
    '\u0000',
    '\u202e',
    '\ud800',
  ),
  fc.constantFrom('ﷺ', '👩‍👩‍👧', 'ß', 'İ', '\u00a0', '\r\n', 'a'.repeat(256), 'é'.repeat(70_000)),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.uuid(),
  fc.ipV4(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)

/** One change of a value: its place in the value, the kind of change, and the operand. */
interface Change {
  readonly place: number
  readonly what: 'replace' | 'remove' | 'add' | 'double'
  readonly poison: unknown
}

const CHANGE: fc.Arbitrary<Change> = fc.record({
  place: fc.nat(1_000),
  what: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'add', 'double'),
  poison: POISON,
})

/** A valid value with up to three things changed; sometimes none. */
export function nearValid(valid: unknown): fc.Arbitrary<unknown> {
  return fc
    .array(CHANGE, { maxLength: 3 })
    .map((changes) => changes.reduce(changed, valid === undefined ? {} : valid))
}

/** Query texts that are almost valid for a parameter. */
export function nearValidText(valid: string): fc.Arbitrary<string> {
  return fc.oneof(fc.constant(valid), POISON.map(textOf))
}

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  // URLs hold no lone surrogate, and no client sends a long one.
  return text.toWellFormed().slice(0, 300)
}

function changed(value: unknown, change: Change): unknown {
  const places = placesIn(value)
  const place = places[change.place % places.length] ?? []
  return changedAt(value, place, change)
}

/** The way to every value in it, itself first. */
function placesIn(value: unknown): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [[]]
  const below = Object.entries(value).flatMap(([key, child]) =>
    placesIn(child).map((place) => [key, ...place]),
  )
  return [[], ...below]
}

function changedAt(value: unknown, place: readonly string[], change: Change): unknown {
  const [key, ...rest] = place
  if (key === undefined) return changedHere(value, change)
  const isGone = rest.length === 0 && change.what === 'remove'
  if (Array.isArray(value))
    return value.flatMap((item: unknown, i) =>
      String(i) === key ? (isGone ? [] : [changedAt(item, rest, change)]) : [item],
    )
  const entries = Object.entries(value as object).flatMap(([name, child]): [string, unknown][] =>
    name === key ? (isGone ? [] : [[name, changedAt(child, rest, change)]]) : [[name, child]],
  )
  return Object.fromEntries(entries)
}

function changedHere(value: unknown, { what, poison }: Change): unknown {
  if (what === 'add' && isNode(value)) return { ...value, added: poison }
  if (what === 'add' && Array.isArray(value)) return [...value, poison]
  if (what === 'double' && Array.isArray(value)) return [...value, ...value]
  if (what === 'double' && typeof value === 'string') return value + value
  return poison
}
