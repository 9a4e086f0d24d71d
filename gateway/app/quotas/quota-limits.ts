import type { Executor } from '#common/db/database.ts'
import { classLimits, projectLimits, type SetLimits } from '../../db/quota-limits.ts'
import { type ProjectUser, userLimits } from '../../db/user-quota-limits.ts'
import {
  DEFAULT_LIMITS,
  QUOTA_RESOURCES,
  type QuotaLimits,
  type QuotaResource,
  UNLIMITED,
} from './resources.ts'

/** What holds for a project: its own limits, then the default class's, then the built-in ones. */
export async function quotaLimits(db: Executor, projectId: string): Promise<QuotaLimits> {
  const [own, byClass] = await Promise.all([projectLimits(db, projectId), classLimits(db)])
  return layered(own, byClass)
}

/** The limits set for a user of a project, completed with those of the project. */
export async function userQuotaLimits(db: Executor, user: ProjectUser): Promise<QuotaLimits> {
  const [own, ofProject] = await Promise.all([
    userLimits(db, user),
    quotaLimits(db, user.projectId),
  ])
  return layered(own, new Map(Object.entries(ofProject)))
}

/** What holds for a project, or for a user in it where one is named. */
export function limitsShown(
  db: Executor,
  projectId: string,
  userId: string | undefined,
): Promise<QuotaLimits> {
  return userId === undefined
    ? quotaLimits(db, projectId)
    : userQuotaLimits(db, { projectId, userId })
}

/** The limit of a user on a resource that is counted per user: the lower of the user's and the project's. */
export async function lowerLimit(
  db: Executor,
  user: ProjectUser,
  resource: QuotaResource,
): Promise<number> {
  const [own, ofProject] = await Promise.all([
    userLimits(db, user),
    quotaLimits(db, user.projectId),
  ])
  const both = [own.get(resource) ?? UNLIMITED, ofProject[resource]]
  const limits = both.filter((limit) => limit !== UNLIMITED)
  return limits.length === 0 ? UNLIMITED : Math.min(...limits)
}

/** What holds for a project nothing was set for. */
export async function defaultLimits(db: Executor): Promise<QuotaLimits> {
  return layered(await classLimits(db))
}

/** The limits set for a class, completed with the built-in ones. */
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
