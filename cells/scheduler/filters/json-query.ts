import { capabilityOf } from '../capabilities.ts'
import type { HostFilter } from '../filter.ts'
import type { HostState } from '../host-state.ts'

type Known = string | number | boolean
/** Undefined: a capability that no host has. */
type Value = Known | undefined
type Compare = (first: Known, other: Known) => boolean

const isSame: Compare = (first, other) => String(first) === String(other)
const ordered =
  (compare: (first: number, other: number) => boolean): Compare =>
  (first, other) =>
    compare(Number(first), Number(other))

/** Each compares the first value with every other one; `in`: with any of them. */
const COMPARISONS: Readonly<Record<string, Compare>> = {
  '=': isSame,
  in: isSame,
  '<': ordered((first, other) => first < other),
  '>': ordered((first, other) => first > other),
  '<=': ordered((first, other) => first <= other),
  '>=': ordered((first, other) => first >= other),
}
const DEPTH_MAX = 20

/** Refuses hosts for which the hint `query`, such as `[">=", "$free_ram_mb", 1024]`, is false (nova: JsonFilter). */
export const jsonFilter: HostFilter = {
  name: 'JsonFilter',
  concerns: ({ hints }) => hints['query'] !== undefined,
  runs: 'named',
  refuse: (host, { hints }) => {
    const [query] = hints['query'] ?? []
    if (query === undefined) return undefined
    return isTrue(valueOf(parsed(query), host, 0)) ? undefined : `does not match the query ${query}`
  },
}

function parsed(query: string): unknown {
  try {
    return JSON.parse(query)
  } catch {
    throw new Error(`the hint query is not JSON: ${query}`)
  }
}

/** Throws, with the reason, for a query that has no meaning. */
function valueOf(query: unknown, host: HostState, depth: number): Value {
  if (depth > DEPTH_MAX) throw new Error(`the hint query is nested more than ${DEPTH_MAX} deep`)
  if (typeof query === 'string')
    return query.startsWith('$') ? capabilityOf(host, query.slice(1).replaceAll('.', ':')) : query
  if (typeof query === 'number' || typeof query === 'boolean') return query
  if (!Array.isArray(query) || query.length === 0) throw new Error('the hint query is not a list')
  const [operator, ...parts] = query as readonly unknown[]
  const values = parts.map((part) => valueOf(part, host, depth + 1))
  if (operator === 'and') return values.every(isTrue)
  if (operator === 'or') return values.some(isTrue)
  if (operator === 'not') return !values.some(isTrue)
  const [first, ...others] = values
  const name = String(operator)
  const compare = Object.hasOwn(COMPARISONS, name) ? COMPARISONS[name] : undefined
  if (compare === undefined) throw new Error(`the hint query has the unknown operator ${name}`)
  const holds = (other: Value) =>
    first !== undefined && other !== undefined && compare(first, other)
  return name === 'in' ? others.some(holds) : others.length > 0 && others.every(holds)
}

function isTrue(value: Value): boolean {
  return value !== undefined && value !== false
}
