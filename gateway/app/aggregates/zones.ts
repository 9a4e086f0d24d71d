import type { Executor } from '#common/db/database.ts'
import type { ErrorKind } from '#common/errors.ts'
import { Failure } from '#common/errors.ts'
import type { Aggregate } from '../../db/aggregates.ts'
import { serversOnHosts } from '../../db/host-list.ts'

/** The metadata by which an aggregate is an availability zone. */
export const ZONE_KEY = 'availability_zone'

/** Nova's words for what cannot be done to an aggregate, and the kind of the failure. */
export interface ZoneChange {
  readonly aggregate: Aggregate
  readonly kind: ErrorKind
  /** Such as `Cannot update aggregate 7`. */
  readonly refusal: string
}

/**
 * Throws unless the aggregate may stand for this zone (nova `is_safe_to_update_az`): a host has one zone, and the
 * zone of servers that exist never changes.
 */
export async function refuseZone(
  db: Executor,
  all: readonly Aggregate[],
  { aggregate, kind, refusal }: ZoneChange,
  zone: string | null,
): Promise<void> {
  const refuse = (reason: string) => new Failure(kind, `${refusal}. Reason: ${reason}.`)
  if (!zone)
    throw refuse(`Aggregate ${aggregate.name} does not support empty named availability zone`)
  const others = aggregate.hosts.flatMap(({ hostId }) => {
    const other = zoneByAggregates(without(all, aggregate), hostId)
    return other === null || other === zone ? [] : [other]
  })
  if (others.length > 0)
    throw refuse(`One or more hosts already in availability zone(s) ${others.join(', ')}`)
  if (aggregate.metadata[ZONE_KEY] === zone) return
  const servers = await serversOnHosts(
    db,
    aggregate.hosts.map(({ hostId }) => hostId),
  )
  if (servers.size > 0) throw refuse('One or more hosts contain instances in this zone')
}

/** The zone that aggregates give to a host; null: none does. */
export function zoneByAggregates(all: readonly Aggregate[], hostId: string): string | null {
  const zones = all
    .filter(({ hosts }) => hosts.some((host) => host.hostId === hostId))
    .map(({ metadata }) => metadata[ZONE_KEY])
  return zones.find((zone) => zone !== undefined) ?? null
}

/** The aggregates but that one. */
export function without(all: readonly Aggregate[], aggregate: Aggregate): readonly Aggregate[] {
  return all.filter(({ id }) => id !== aggregate.id)
}
