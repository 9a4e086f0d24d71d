import { type Aggregate, lockAggregates, updateAggregate as update } from '../../db/aggregates.ts'
import { aggregateOf, showAggregate } from './find-aggregate.ts'
import { type AggregateDeps, pushToHosts } from './push-aggregates.ts'
import { refuseZone, ZONE_KEY } from './zones.ts'

export interface AggregateUpdate {
  readonly name?: string
  /** Null is refused: an aggregate that is a zone stays one. */
  readonly zone?: string | null
}

/** Throws `not-found`, `conflict` for a name in use, and `invalid` for a zone its hosts cannot be in. */
export async function updateAggregate(
  deps: AggregateDeps,
  id: string,
  { name, zone }: AggregateUpdate,
): Promise<Aggregate> {
  const changed = await deps.db.transaction(async (tx) => {
    const all = await lockAggregates(tx)
    const aggregate = aggregateOf(all, id)
    const refusal = `Cannot update aggregate ${id}`
    if (zone !== undefined) await refuseZone(tx, all, { aggregate, kind: 'invalid', refusal }, zone)
    await update(tx, aggregate.id, {
      ...(name !== undefined && { name }),
      ...(zone && { metadata: { ...aggregate.metadata, [ZONE_KEY]: zone } }),
    })
    return aggregate
  })
  await pushToHosts(
    deps,
    changed.hosts.map(({ hostId }) => hostId),
  )
  return showAggregate(deps.db, id)
}
