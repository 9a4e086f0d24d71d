import { type Aggregate, lockAggregates, updateAggregate } from '../../db/aggregates.ts'
import { aggregateOf, showAggregate } from './find-aggregate.ts'
import { type AggregateDeps, pushToHosts } from './push-aggregates.ts'
import { refuseZone, ZONE_KEY } from './zones.ts'

/** Afterwards these keys have these values, null ones are gone, and others are as before. Throws as `updateAggregate`. */
export async function setAggregateMetadata(
  deps: AggregateDeps,
  id: string,
  change: Readonly<Record<string, string | null>>,
): Promise<Aggregate> {
  const changed = await deps.db.transaction(async (tx) => {
    const all = await lockAggregates(tx)
    const aggregate = aggregateOf(all, id)
    const zone = change[ZONE_KEY]
    const refusal = `Cannot update metadata of aggregate ${id}`
    if (zone !== undefined) await refuseZone(tx, all, { aggregate, kind: 'invalid', refusal }, zone)
    const merged = Object.entries({ ...aggregate.metadata, ...change })
    const metadata = Object.fromEntries(
      merged.flatMap(([key, value]) => (value === null ? [] : [[key, value] as const])),
    )
    await updateAggregate(tx, aggregate.id, { metadata })
    return aggregate
  })
  await pushToHosts(
    deps,
    changed.hosts.map(({ hostId }) => hostId),
  )
  return showAggregate(deps.db, id)
}
