import type { Executor } from '#common/db/database.ts'
import type { FlavorSnapshot } from '#openapi/wire/instance.ts'
import { usagesOf } from '../../../db/quota-usages.ts'
import { type ProjectUser, userLimits } from '../../../db/user-quota-limits.ts'
import { usagesOfUser } from '../../../db/user-usages.ts'
import { quotaLimits } from '../../quotas/quota-limits.ts'
import { UNLIMITED } from '../../quotas/resources.ts'

type Amounts = ReadonlyMap<string, number>

/** How many more servers of this flavor the quota of project and user has room for at present. */
export async function fittingCount(
  db: Executor,
  owner: ProjectUser,
  flavor: FlavorSnapshot,
): Promise<number> {
  const { projectId } = owner
  const [limits, usages, own] = await Promise.all([
    quotaLimits(db, projectId),
    usagesOf(db, projectId),
    userLimits(db, owner),
  ])
  const inProject = roomFor(new Map(Object.entries(limits)), usages, flavor)
  if (own.size === 0) return inProject
  return Math.min(inProject, roomFor(own, await usagesOfUser(db, owner), flavor))
}

function roomFor(limits: Amounts, usages: Amounts, flavor: FlavorSnapshot): number {
  const room = (resource: 'instances' | 'cores' | 'ram', each: number) => {
    const limit = limits.get(resource) ?? UNLIMITED
    if (limit === UNLIMITED) return Number.POSITIVE_INFINITY
    return Math.max(Math.floor((limit - (usages.get(resource) ?? 0)) / each), 0)
  }
  return Math.min(room('instances', 1), room('cores', flavor.vcpus), room('ram', flavor.memoryMb))
}
