import { eq, sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { HostId } from '#common/ids.ts'
import type { NumaAllocation } from '#openapi/wire/numa.ts'
import { customResources, resourceProviders } from '../db/schema/placement.ts'
import { type CountedNode, chooseNodes, freeOfNodes } from './choose-nodes.ts'
import type { NodeWish } from './node-wish.ts'

const p = sql.placeholder
const isProvider = eq(resourceProviders.id, p('provider'))

const LOCK = statement(
  builder
    .select({ id: resourceProviders.id })
    .from(resourceProviders)
    .where(isProvider)
    .for('update'),
)

const COUNTED = statement(
  builder
    .select({
      resource_class: customResources.resourceClass,
      limit: customResources.limit,
      used: customResources.used,
    })
    .from(customResources)
    .where(eq(customResources.providerId, p('provider')))
    .for('update'),
)

/**
 * The nodes of the provider that have what the wish says, and have it until the transaction ends; undefined when there
 * are none.
 */
export async function lockNodes(
  tx: Tx,
  provider: HostId,
  nodes: readonly CountedNode[],
  wish: NodeWish,
): Promise<NumaAllocation | undefined> {
  // Claims and what gives back change its row first.
  await tx.rows(LOCK, { provider })
  const rows = await tx.rows<{ resource_class: string; limit: number; used: number }>(COUNTED, {
    provider,
  })
  const column = (of: 'limit' | 'used') => ({
    custom: Object.fromEntries(rows.map((row) => [row.resource_class, row[of]])),
  })
  return chooseNodes(wish, freeOfNodes(nodes, { limits: column('limit'), used: column('used') }))
}
