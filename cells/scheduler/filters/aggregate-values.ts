import { own } from '#common/own.ts'
import type { HostAggregate } from '#openapi/wire/host.ts'

/** What the aggregates of a host say under a key; a value with commas is several, as in Nova. */
export function aggregateValues(
  aggregates: readonly HostAggregate[],
  key: string,
): readonly string[] {
  return aggregates.flatMap(({ metadata }) => {
    const value = own(metadata, key)
    return value === undefined ? [] : value.split(',').map((part) => part.trim())
  })
}
