import { eq } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import { instances } from '../db/schema/instances.ts'
import { allocations, customResources, resourceProviders } from '../db/schema/placement.ts'

/**
 * Afterwards nothing can be claimed of the host. Throws `conflict`, in Nova's words (`os-services` delete), while
 * servers are on it or hold a place on it. Concurrent claims wait for the provider's row, and then find none.
 */
export async function deleteProvider(tx: Tx, id: HostId): Promise<void> {
  await tx.orm
    .select({ id: resourceProviders.id })
    .from(resourceProviders)
    .where(eq(resourceProviders.id, id))
    .for('update')
  const [server] = await tx.orm
    .select({ id: instances.serverId })
    .from(instances)
    .where(eq(instances.hostId, id))
    .limit(1)
  if (server !== undefined)
    throw new Failure(
      'conflict',
      'Unable to delete compute service that is hosting instances. Migrate or delete the instances first.',
    )
  const [held] = await tx.orm
    .select({ by: allocations.consumerId })
    .from(allocations)
    .where(eq(allocations.providerId, id))
    .limit(1)
  if (held !== undefined)
    throw new Failure(
      'conflict',
      'Unable to delete compute service that has in-progress migrations. Complete the migrations or delete the instances first.',
    )
  await tx.orm.delete(customResources).where(eq(customResources.providerId, id))
  await tx.orm.delete(resourceProviders).where(eq(resourceProviders.id, id))
}
