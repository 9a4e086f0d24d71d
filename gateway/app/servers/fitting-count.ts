import type { Executor } from '#common/db/database.ts'
import type { FlavorSnapshot } from '#openapi/wire/instance.ts'
import { usagesOf } from '../../db/quota-usages.ts'
import { quotaLimits } from '../quotas/quota-limits.ts'
import { UNLIMITED } from '../quotas/resources.ts'

/** How many more servers of this flavor the project's quota has room for at present. */
export async function fittingCount(
  db: Executor,
  projectId: string,
  flavor: FlavorSnapshot,
): Promise<number> {
  const [limits, usages] = await Promise.all([quotaLimits(db, projectId), usagesOf(db, projectId)])
  const room = (resource: 'instances' | 'cores' | 'ram', each: number) => {
    const limit = limits[resource]
    if (limit === UNLIMITED) return Number.POSITIVE_INFINITY
    return Math.max(Math.floor((limit - (usages.get(resource) ?? 0)) / each), 0)
  }
  return Math.min(room('instances', 1), room('cores', flavor.vcpus), room('ram', flavor.memoryMb))
}
