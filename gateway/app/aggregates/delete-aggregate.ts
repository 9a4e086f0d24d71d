import type { Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { lockAggregates, deleteAggregate as remove } from '../../db/aggregates.ts'
import { aggregateOf } from './find-aggregate.ts'

/** Throws `not-found`, and `invalid` while a host is in it. */
export async function deleteAggregate(db: Transactional, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    const aggregate = aggregateOf(await lockAggregates(tx), id)
    if (aggregate.hosts.length > 0)
      throw new Failure(
        'invalid',
        `Cannot remove host from aggregate ${id}. Reason: Host aggregate is not empty.`,
      )
    await remove(tx, aggregate.id)
  })
}
