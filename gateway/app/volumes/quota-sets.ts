import type { Executor, Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import {
  clearVolumeLimits,
  type LimitsByResource,
  setVolumeClassLimits,
  setVolumeLimits,
  volumeQuotaRows,
} from '../../db/volume-quotas.ts'
import { typeIdsByName, typesOfProject } from '../../db/volume-type-list.ts'
import { checkQuotaProject } from '../quotas/quota-project.ts'
import type { Caller } from '../request-context.ts'
import {
  type AllLimits,
  classVolumeLimits,
  defaultVolumeLimits,
  volumeLimits,
} from './quota-limits.ts'
import {
  COUNTED,
  QUOTA_NAMES,
  type QuotaName,
  resourceOfType,
  UNLIMITED,
} from './quota-resources.ts'

/** A limit with what is used of it. */
export interface QuotaState {
  /** -1: none. */
  readonly limit: number
  readonly used: number
}

/** By the names that clients know: those of types end with the name of the type. */
export type QuotaSet = ByQuotaName<QuotaState>

export type ByQuotaName<T> = Readonly<Record<QuotaName, T>> & Readonly<Record<string, T>>

type Sight = Pick<Caller, 'isAdmin' | 'isExternal' | 'projectId'>

/** The limits of a project with their usage, and those of each type that it may use. Throws as `checkQuotaProject`. */
export async function showQuotaSet(
  db: Executor,
  caller: Sight,
  projectId: string,
): Promise<QuotaSet> {
  await checkQuotaProject(db, caller, projectId)
  const [limits, rows, types] = await Promise.all([
    volumeLimits(db, projectId),
    volumeQuotaRows(db, projectId),
    typesOfProject(db, projectId),
  ])
  return named(limits, new Map(rows.map(({ resource, used }) => [resource, used])), types)
}

/** The limits of a project for which none are set. Throws as `checkQuotaProject`. */
export async function showDefaultQuotaSet(
  db: Executor,
  caller: Sight,
  projectId: string,
): Promise<QuotaSet> {
  await checkQuotaProject(db, caller, projectId)
  const types = await typesOfProject(db, projectId)
  return named(await defaultVolumeLimits(db), new Map(), types)
}

/** The limits of a class, and those of each type. */
export async function showQuotaClassSet(db: Executor, className: string): Promise<QuotaSet> {
  const types = [...(await typeIdsByName(db))].map(([name, id]) => ({ name, id }))
  return named(await classVolumeLimits(db, className), new Map(), types)
}

function named(
  { limits, byType }: AllLimits,
  used: LimitsByResource,
  types: readonly { readonly id: string; readonly name: string }[],
): QuotaSet {
  const own = QUOTA_NAMES.map(
    (name) => [name, { limit: limits[name], used: used.get(name) ?? 0 }] as const,
  )
  const ofTypes = types.flatMap(({ id, name }) =>
    COUNTED.map((counted) => {
      const resource = resourceOfType(counted, id)
      const state = { limit: byType.get(resource) ?? UNLIMITED, used: used.get(resource) ?? 0 }
      return [`${counted}_${name}`, state] as const
    }),
  )
  return Object.fromEntries([...own, ...ofTypes]) as QuotaSet
}

/** Limits by the names that clients know. */
export type WantedLimits = Readonly<Record<string, number>>

/**
 * Afterwards the project has the new limits; those not named stay. Throws `invalid` for names that are none, and for a
 * limit below the amount used.
 */
export async function updateQuotaSet(
  db: Executor & Transactional,
  caller: Sight,
  projectId: string,
  wanted: WantedLimits,
): Promise<QuotaSet> {
  await checkQuotaProject(db, caller, projectId)
  const limits = await resourcesOf(db, wanted, 'quota set')
  await db.transaction(async (tx) => {
    await setVolumeLimits(tx, projectId, limits)
    const rows = await volumeQuotaRows(tx, projectId)
    refuseBelowUse(wanted, limits, new Map(rows.map(({ resource, used }) => [resource, used])))
  })
  return showQuotaSet(db, caller, projectId)
}

/** In Cinder's words. */
function refuseBelowUse(
  wanted: WantedLimits,
  limits: LimitsByResource,
  used: LimitsByResource,
): void {
  const resources = [...limits.keys()]
  Object.entries(wanted).forEach(([name, limit], index) => {
    const usage = used.get(resources[index] ?? '') ?? 0
    if (limit !== UNLIMITED && limit < usage)
      throw new Failure(
        'invalid',
        `Quota ${name} limit must be equal or greater than existing resources. Current usage is ${usage} and the requested limit is ${limit}.`,
      )
  })
}

/** Afterwards the default limits hold for the project. */
export function resetQuotaSet(db: Executor, projectId: string): Promise<void> {
  return clearVolumeLimits(db, projectId)
}

const NAME_LENGTH_MAX = 255

/** Afterwards the class has the new limits; those not named stay. Throws `invalid` for names that are none or too long. */
export async function updateQuotaClassSet(
  db: Executor & Transactional,
  className: string,
  wanted: WantedLimits,
): Promise<QuotaSet> {
  if (className.length > NAME_LENGTH_MAX)
    throw new Failure('invalid', `quota_class_name has more than ${NAME_LENGTH_MAX} characters.`)
  const limits = await resourcesOf(db, wanted, 'quota class set')
  await db.transaction((tx) => setVolumeClassLimits(tx, className, limits))
  return showQuotaClassSet(db, className)
}

/** By what the ledger calls them, in the order of `wanted`. */
async function resourcesOf(
  db: Executor,
  wanted: WantedLimits,
  what: string,
): Promise<LimitsByResource> {
  const types = await typeIdsByName(db)
  const known = new Map<string, string>(QUOTA_NAMES.map((name) => [name, name]))
  for (const [name, id] of types)
    for (const counted of COUNTED) known.set(`${counted}_${name}`, resourceOfType(counted, id))
  const unknown = Object.keys(wanted).filter((name) => !known.has(name))
  if (unknown.length > 0)
    throw new Failure(
      'invalid',
      `Bad key(s) in ${what}: ${unknown.join(', ')}. Use ${QUOTA_NAMES.join(', ')}, or ${COUNTED.join(', ')} followed by an underscore and the name of a type.`,
    )
  return new Map(Object.entries(wanted).map(([name, limit]) => [known.get(name) ?? '', limit]))
}
