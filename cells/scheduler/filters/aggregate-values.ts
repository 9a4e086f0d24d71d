import type { HostAggregate } from '#openapi/wire/provider.ts'

/** The words that a host's aggregates have under a key; a value with commas is several, as Nova reads words but not numbers. */
export function aggregateValues(
  aggregates: readonly HostAggregate[],
  key: string,
): readonly string[] {
  return aggregates.flatMap(({ metadata }) => {
    if (!Object.hasOwn(metadata, key)) return []
    return metadata[key]!.split(',').map((part) => part.trim())
  })
}

/**
 * The smallest whole number that a host's aggregates have under a key, and which of them has it; undefined: none has one.
 * Other values are ignored: aggregates accept any text, as in Nova.
 */
export function smallestOfAggregates(
  aggregates: readonly HostAggregate[],
  key: string,
): { readonly of: string; readonly max: number } | undefined {
  const [smallest] = aggregates
    .flatMap(({ id, metadata }) => {
      const value = Object.hasOwn(metadata, key) ? metadata[key]!.trim() : ''
      return /^\d+$/.test(value) ? [{ of: `aggregate ${id}`, max: Number(value) }] : []
    })
    .toSorted((a, b) => a.max - b.max)
  return smallest
}
