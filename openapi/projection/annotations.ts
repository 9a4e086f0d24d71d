import { type Microversion, ordinal } from '../microversions.ts'

/** A node of a document: a schema, an operation, a parameter, a response. */
export type Node = { readonly [key: string]: unknown }

/** The microversions in which something exists; an absent end is open. */
export interface VersionRange {
  readonly since?: Microversion
  readonly until?: Microversion
}

const ALWAYS: readonly VersionRange[] = [{}]

/**
 * The ranges a node is annotated with: `x-since` and `x-until`, or `x-ranges` where it came and went.
 * A node without annotation exists always.
 */
export function rangesOf(node: Node): readonly VersionRange[] {
  const ranges = node['x-ranges']
  if (Array.isArray(ranges)) return ranges as readonly VersionRange[]
  const since = node['x-since'] as Microversion | undefined
  const until = node['x-until'] as Microversion | undefined
  if (since === undefined && until === undefined) return ALWAYS
  return [{ ...(since && { since }), ...(until && { until }) }]
}

/** True when a node exists at this microversion. */
export function existsAt(node: unknown, version: Microversion): boolean {
  return !isNode(node) || rangesOf(node).some((range) => isWithin(range, version))
}

/** True when the microversion lies in the range, ends included. */
export function isWithin(range: VersionRange, version: Microversion): boolean {
  const at = ordinal(version)
  return (
    (range.since === undefined || at >= ordinal(range.since)) &&
    (range.until === undefined || at <= ordinal(range.until))
  )
}

/** True when a node does not exist at every microversion. */
export function isRanged(node: unknown): boolean {
  return isNode(node) && rangesOf(node) !== ALWAYS
}

/** True for an object that is not an array. */
export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
