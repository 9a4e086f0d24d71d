import type { Executor, Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import {
  type Aggregate,
  insertAggregate,
  listAggregates,
  lockAggregates,
  deleteAggregate as remove,
  updateAggregate as update,
  updateAggregate as writeAggregate,
} from '../../db/aggregates.ts'
import { type ChangedBy, queueAggregateEvent } from '../events/resource-events.ts'
import { type AggregateDeps, pushToHosts } from './push-aggregates.ts'
import { refuseZone, ZONE_KEY } from './zones.ts'

const NUMBER = /^-?\d{1,9}$/

export function allAggregates(db: Executor): Promise<readonly Aggregate[]> {
  return listAggregates(db)
}

/** The aggregate with the id in a request; throws `not-found`, and `invalid` for text that is no number. */
export async function showAggregate(db: Executor, id: string): Promise<Aggregate> {
  return aggregateOf(await listAggregates(db), id)
}

/** As `showAggregate`, of those given. */
export function aggregateOf(all: readonly Aggregate[], id: string): Aggregate {
  if (!NUMBER.test(id))
    throw new Failure('invalid', `The id of an aggregate is a number, not ${id}.`)
  const found = all.find((one) => one.id === Number(id))
  if (found === undefined) throw new Failure('not-found', `Aggregate ${id} could not be found.`)
  return found
}

/** Makes an aggregate without hosts; `zone` null: it is no zone. Throws `conflict` for a name in use. */
export async function createAggregate(
  db: Transactional,
  by: ChangedBy,
  { name, zone }: { readonly name: string; readonly zone: string | null },
): Promise<Aggregate> {
  const metadata: Record<string, string> = zone === null ? {} : { [ZONE_KEY]: zone }
  const aggregate = { uuid: newId<string>(), name, metadata }
  const id = await db.transaction(async (tx) => {
    const added = await insertAggregate(tx, aggregate)
    queueAggregateEvent(tx, by, 'create', { ...aggregate, id: added, hosts: [] })
    return added
  })
  return showAggregate(db, String(id))
}

export interface AggregateUpdate {
  readonly name?: string
  /** Null is refused: an aggregate that is a zone stays one. */
  readonly zone?: string | null
}

/** Throws `not-found`, `conflict` for a name in use, and `invalid` for a zone its hosts cannot be in. */
export async function updateAggregate(
  deps: AggregateDeps,
  by: ChangedBy,
  id: string,
  { name, zone }: AggregateUpdate,
): Promise<Aggregate> {
  const changed = await deps.db.transaction(async (tx) => {
    const all = await lockAggregates(tx)
    const aggregate = aggregateOf(all, id)
    const refusal = `Cannot update aggregate ${id}`
    if (zone !== undefined) await refuseZone(tx, all, { aggregate, kind: 'invalid', refusal }, zone)
    const change = {
      ...(name !== undefined && { name }),
      ...(zone && { metadata: { ...aggregate.metadata, [ZONE_KEY]: zone } }),
    }
    await update(tx, aggregate.id, change)
    queueAggregateEvent(tx, by, 'update_prop', { ...aggregate, ...change })
    return aggregate
  })
  await pushToHosts(
    deps,
    changed.hosts.map(({ hostId }) => hostId),
  )
  return showAggregate(deps.db, id)
}

/** Afterwards these keys have these values, null ones are gone, and others are as before. Throws as `writeAggregate`. */
export async function setAggregateMetadata(
  deps: AggregateDeps,
  by: ChangedBy,
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
    await writeAggregate(tx, aggregate.id, { metadata })
    queueAggregateEvent(tx, by, 'update_metadata', { ...aggregate, metadata })
    return aggregate
  })
  await pushToHosts(
    deps,
    changed.hosts.map(({ hostId }) => hostId),
  )
  return showAggregate(deps.db, id)
}

/**
 * Fetches nothing: hosts take an image when a server first needs it, and Nova passes over hosts that cannot take one
 * before. Throws `invalid` for an image named twice, and `not-found`.
 */
export async function cacheImages(
  db: Executor,
  aggregateId: string,
  imageIds: readonly string[],
): Promise<void> {
  if (new Set(imageIds).size < imageIds.length)
    throw new Failure('invalid', 'Duplicate images in request')
  await showAggregate(db, aggregateId)
}

/** Throws `not-found`, and `invalid` while a host is in it. */
export async function deleteAggregate(db: Transactional, by: ChangedBy, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    const aggregate = aggregateOf(await lockAggregates(tx), id)
    if (aggregate.hosts.length > 0)
      throw new Failure(
        'invalid',
        `Cannot remove host from aggregate ${id}. Reason: Host aggregate is not empty.`,
      )
    await remove(tx, aggregate.id)
    queueAggregateEvent(tx, by, 'delete', aggregate)
  })
}
