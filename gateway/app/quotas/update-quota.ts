import type { Transactional, Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { setProjectLimits } from '../../db/quota-limits.ts'
import { usagesOf } from '../../db/quota-usages.ts'
import type { Caller } from '../request-context.ts'
import { quotaLimits } from './quota-limits.ts'
import { checkQuotaProject } from './quota-project.ts'
import { QUOTA_RESOURCES, type QuotaLimits, UNLIMITED } from './resources.ts'

export interface QuotaChange {
  readonly limits: Partial<QuotaLimits>
  /** Takes limits below what is used; then nothing more is granted until enough was given back. */
  readonly isForced: boolean
}

/**
 * Afterwards the project has the new limits; those not named stay. Throws `invalid` for a limit below what is used,
 * unless forced.
 */
export async function updateQuota(
  db: Transactional,
  caller: Pick<Caller, 'isAdmin' | 'projectId'>,
  projectId: string,
  { limits, isForced }: QuotaChange,
): Promise<QuotaLimits> {
  await checkQuotaProject(db, caller, projectId)
  const wanted = wantedLimits(limits)
  await db.transaction(async (tx) => {
    if (!isForced) await refuseBelowUse(tx, projectId, wanted)
    await setProjectLimits(tx, projectId, wanted)
  })
  return quotaLimits(db, projectId)
}

/** The named limits, in the resources' own order. */
export function wantedLimits(limits: Partial<QuotaLimits>): ReadonlyMap<string, number> {
  const named = QUOTA_RESOURCES.flatMap((resource) => {
    const limit = limits[resource]
    return limit === undefined ? [] : [[resource, limit] as const]
  })
  return new Map(named)
}

async function refuseBelowUse(
  tx: Tx,
  projectId: string,
  wanted: ReadonlyMap<string, number>,
): Promise<void> {
  const used = await usagesOf(tx, projectId)
  for (const [resource, limit] of wanted) {
    const minimum = used.get(resource) ?? 0
    if (limit !== UNLIMITED && limit < minimum)
      throw new Failure(
        'invalid',
        `Quota limit ${limit} for ${resource} must be greater than or equal to already used and reserved ${minimum}.`,
      )
  }
}
