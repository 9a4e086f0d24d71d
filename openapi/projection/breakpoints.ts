import { type Microversion, ordinal } from '../microversions.ts'
import { isNode, rangesOf } from './annotations.ts'

/**
 * The ordinals at which a node or anything in it changes, ascending: between two of them every microversion has
 * the same projection.
 */
export function breakpointsOf(node: unknown): readonly number[] {
  const found = new Set<number>()
  collect(node, found)
  return [...found].sort((a, b) => a - b)
}

/** Numbers the stretch between breakpoints in which a microversion lies; equal numbers mean equal projections. */
export function rangeIndexOf(breakpoints: readonly number[], version: Microversion): number {
  const at = ordinal(version)
  return breakpoints.filter((point) => point <= at).length
}

function collect(node: unknown, found: Set<number>): void {
  if (Array.isArray(node)) for (const child of node) collect(child, found)
  if (!isNode(node)) return
  for (const range of rangesOf(node)) {
    if (range.since !== undefined) found.add(ordinal(range.since))
    if (range.until !== undefined) found.add(ordinal(range.until) + 1)
  }
  for (const child of Object.values(node)) collect(child, found)
}
