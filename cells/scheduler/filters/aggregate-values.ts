import type { HostAggregate } from '#openapi/wire/host.ts'

/** What the aggregates of a host say under a key; a value with commas is several, as in Nova. */
export function aggregateValues(
  aggregates: readonly HostAggregate[],
  key: string,
): readonly string[] {
  return aggregates.flatMap(({ metadata }) => {
    if (!Object.hasOwn(metadata, key)) return []
    return metadata[key]!.split(',').map((part) => part.trim())
  })
}
