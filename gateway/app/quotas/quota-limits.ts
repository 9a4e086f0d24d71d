import type { Executor } from '#common/db/database.ts'
import { classLimits, projectLimits, type SetLimits } from '../../db/quota-limits.ts'
import { DEFAULT_LIMITS, QUOTA_RESOURCES, type QuotaLimits } from './resources.ts'

/** What holds for a project: its own limits, then the default class's, then the built-in ones. */
export async function quotaLimits(db: Executor, projectId: string): Promise<QuotaLimits> {
  const [own, byClass] = await Promise.all([projectLimits(db, projectId), classLimits(db)])
  return layered(own, byClass)
}

/** What holds for a project nothing was set for. */
export async function defaultLimits(db: Executor): Promise<QuotaLimits> {
  return layered(await classLimits(db))
}

/** What was set for a class, completed with the built-in limits. */
export async function quotaClassLimits(db: Executor, className: string): Promise<QuotaLimits> {
  return layered(await classLimits(db, className))
}

function layered(...layers: readonly SetLimits[]): QuotaLimits {
  const limits = QUOTA_RESOURCES.map((resource) => {
    const set = layers.map((layer) => layer.get(resource)).find((limit) => limit !== undefined)
    return [resource, set ?? DEFAULT_LIMITS[resource]] as const
  })
  return Object.fromEntries(limits) as QuotaLimits
}
