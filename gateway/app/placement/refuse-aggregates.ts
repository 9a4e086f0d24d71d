import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { findProvider } from './list-providers.ts'

/** Throws `not-found` for a provider that there is not, and else `invalid`: Compute has the aggregates. */
export async function refuseAggregates(db: Executor, id: string): Promise<never> {
  const { host } = await findProvider(db, id)
  throw new Failure(
    'invalid',
    `The aggregates of host ${host} are those of Compute, and its cell. Put it into one with add_host of POST /compute/v2.1/os-aggregates/{id}/action (openstack aggregate add host AGGREGATE ${host}), and take it out with remove_host.`,
  )
}
