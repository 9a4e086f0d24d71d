import type { HostAggregate } from '#openapi/wire/host.ts'

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
