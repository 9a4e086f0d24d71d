import type { HostAggregate } from '#openapi/wire/provider.ts'

/** The zone of a host: the one an aggregate of its names, else its own. */
export function zoneOf(ownZone: string, aggregates: readonly HostAggregate[]): string {
  const named = aggregates.map(({ metadata }) => metadata['availability_zone'])
  return named.find((zone) => zone !== undefined) ?? ownZone
}
