import type { Executor } from '#common/db/database.ts'
import {
  DEFAULT_CLASS,
  type LimitsByResource,
  volumeClassLimits,
  volumeQuotaRows,
} from '../../db/volume-quotas.ts'
import { DEFAULT_LIMITS, QUOTA_NAMES, type QuotaName } from './quota-resources.ts'

/** The limits that have a name of their own. */
export type VolumeLimits = Readonly<Record<QuotaName, number>>

/** All limits that hold; those of types by what the ledger calls them, absent where there is none. */
export interface AllLimits {
  readonly limits: VolumeLimits
  readonly byType: LimitsByResource
}

/** What holds for a project: its own limits, then the default class's, then the built-in ones. */
export async function volumeLimits(db: Executor, projectId: string): Promise<AllLimits> {
  const [rows, byClass] = await Promise.all([
    volumeQuotaRows(db, projectId),
    volumeClassLimits(db, DEFAULT_CLASS),
  ])
  const own = rows.flatMap(({ resource, limit }) =>
    limit === null ? [] : [[resource, limit] as const],
  )
  return layered(new Map([...byClass, ...own]))
}

/** What holds for a project for which nothing was set. */
export function defaultVolumeLimits(db: Executor): Promise<AllLimits> {
  return classVolumeLimits(db, DEFAULT_CLASS)
}

/** The limits set for a class, completed with the built-in ones. */
export async function classVolumeLimits(db: Executor, className: string): Promise<AllLimits> {
  return layered(await volumeClassLimits(db, className))
}

function layered(set: LimitsByResource): AllLimits {
  const limits = QUOTA_NAMES.map((name) => [name, set.get(name) ?? DEFAULT_LIMITS[name]] as const)
  const byType = [...set].filter(([resource]) => !(resource in DEFAULT_LIMITS))
  return { limits: Object.fromEntries(limits) as VolumeLimits, byType: new Map(byType) }
}
