import type { Transactional, Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { setProjectLimits } from '../../db/quota-limits.ts'
import { usagesOf } from '../../db/quota-usages.ts'
import { limitsOfUsers, setUserLimits, userLimits } from '../../db/user-quota-limits.ts'
import { usagesOfUser } from '../../db/user-usages.ts'
import type { Caller } from '../request-context.ts'
import { limitsShown, quotaLimits } from './quota-limits.ts'
import { checkQuotaProject } from './quota-project.ts'
import { QUOTA_RESOURCES, type QuotaLimits, type QuotaResource, UNLIMITED } from './resources.ts'

export interface QuotaChange {
  /** Whose limits these are in the project; undefined: its own. */
  readonly userId: string | undefined
  readonly limits: Partial<QuotaLimits>
  /**
   * Accepts limits outside the range, such as below the used amount; then nothing more is granted until enough was
   * given back.
   */
  readonly isForced: boolean
}

/**
 * Afterwards the project, or the user in it, has the new limits; those not named stay. Throws `invalid` for a limit
 * below the amount used or given to users, and for a user's limit above what the project has left to give, unless
 * forced.
 */
export async function updateQuota(
  db: Transactional,
  caller: Pick<Caller, 'isAdmin' | 'isExternal' | 'projectId'>,
  projectId: string,
  { userId, limits, isForced }: QuotaChange,
): Promise<QuotaLimits> {
  await checkQuotaProject(db, caller, projectId)
  const wanted = wantedLimits(limits)
  await db.transaction(async (tx) => {
    if (!isForced) refuseOutside(await settable(tx, projectId, userId), wanted)
    if (userId === undefined) await setProjectLimits(tx, projectId, wanted)
    else await setUserLimits(tx, { projectId, userId }, wanted)
  })
  return limitsShown(db, projectId, userId)
}

/** The named limits, in the resources' own order. */
export function wantedLimits(limits: Partial<QuotaLimits>): ReadonlyMap<QuotaResource, number> {
  const named = QUOTA_RESOURCES.flatMap((resource) => {
    const limit = limits[resource]
    return limit === undefined ? [] : [[resource, limit] as const]
  })
  return new Map(named)
}

interface Range {
  readonly minimum: number
  readonly maximum: number
}

/** In which range each limit may be set (nova/quota.py `get_settable_quotas`). */
async function settable(
  tx: Tx,
  projectId: string,
  userId: string | undefined,
): Promise<(resource: QuotaResource) => Range> {
  const given = await limitsOfUsers(tx, projectId)
  if (userId === undefined) {
    const used = await usagesOf(tx, projectId)
    return (resource) => ({
      minimum: Math.max(used.get(resource) ?? 0, given.get(resource) ?? 0),
      maximum: UNLIMITED,
    })
  }
  const user = { projectId, userId }
  const used = await usagesOfUser(tx, user)
  const own = await userLimits(tx, user)
  const ofProject = await quotaLimits(tx, projectId)
  return (resource) => {
    const left = ofProject[resource] - (given.get(resource) ?? 0) + (own.get(resource) ?? 0)
    const maximum = ofProject[resource] === UNLIMITED ? UNLIMITED : Math.max(left, 0)
    return { minimum: used.get(resource) ?? 0, maximum }
  }
}

/** In Nova's words. */
function refuseOutside(
  rangeOf: (resource: QuotaResource) => Range,
  wanted: ReadonlyMap<QuotaResource, number>,
): void {
  const number = (limit: number) => (limit === UNLIMITED ? Number.POSITIVE_INFINITY : limit)
  for (const [resource, limit] of wanted) {
    const { minimum, maximum } = rangeOf(resource)
    const named = `Quota limit ${limit} for ${resource}`
    if (number(limit) < minimum)
      throw new Failure(
        'invalid',
        `${named} must be greater than or equal to already used and reserved ${minimum}.`,
      )
    if (number(limit) > number(maximum))
      throw new Failure('invalid', `${named} must be less than or equal to ${maximum}.`)
  }
}
