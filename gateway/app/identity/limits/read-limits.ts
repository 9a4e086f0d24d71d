import type { Failure } from '#common/errors.ts'
import {
  findOwnLimit,
  listOwnLimits,
  type OwnLimitFilter,
} from '../../../db/identity/own-limits.ts'
import { findProject } from '../../../db/identity/projects.ts'
import {
  findRegisteredLimit,
  listRegisteredLimits,
} from '../../../db/identity/registered-limits.ts'
import { isAllowed } from '../../policy.ts'
import type { Caller } from '../../request-context.ts'
import { enforceInDomain } from '../domain-reach.ts'
import type { Identity } from '../identity.ts'
import { type Listed, listed, NO_ENTRIES, readLimit } from '../listed.ts'
import { noSuch } from '../model.ts'
import type { LimitFilter, OwnLimit, RegisteredLimit } from './limit.ts'

const OTHERS = 'identity:get_limit:other'

/** How limits of projects above and below each other go together: not at all. Keystone's name and words for that. */
export const ENFORCEMENT_MODEL = {
  name: 'flat',
  description:
    'Limit enforcement and validation does not take project hierarchy into consideration.',
} as const

/** A page, where there is a limit to its size. */
interface Page {
  readonly limit?: number | undefined
}

/** A page of the registered limits, which are the defaults of every project. */
export async function registeredLimitPage(
  { db }: Identity,
  { limit, ...filter }: LimitFilter & Page,
): Promise<Listed<RegisteredLimit>> {
  return listed(await listRegisteredLimits(db, filter, readLimit(limit)), limit)
}

/** Throws `not-found`. */
export async function oneRegisteredLimit({ db }: Identity, id: string): Promise<RegisteredLimit> {
  const found = await findRegisteredLimit(db, id)
  if (found === undefined) throw noSuchRegisteredLimit(id)
  return found
}

/** All limits for who may see others'; else those of the token's domain and its projects, or of its project. */
export async function ownLimitPage(
  { db }: Identity,
  caller: Caller,
  { limit, ...asked }: OwnLimitFilter & Page,
): Promise<Listed<OwnLimit>> {
  const filter = visible(caller, asked)
  if (filter === undefined) return NO_ENTRIES
  return listed(await listOwnLimits(db, filter, readLimit(limit)), limit)
}

function visible(caller: Caller, asked: OwnLimitFilter): OwnLimitFilter | undefined {
  if (caller.domainId !== null) return { ...asked, withinDomain: caller.domainId }
  if (isAllowed(caller, OTHERS)) return asked
  const { projectId } = caller
  if (projectId === null || (asked.projectId ?? projectId) !== projectId) return undefined
  return { ...asked, projectId }
}

/** The limit, if it belongs to the token's project, or for callers who may see the limits of others. */
export async function oneOwnLimit({ db }: Identity, caller: Caller, id: string): Promise<OwnLimit> {
  const found = await findOwnLimit(db, id)
  const owner = found?.owner
  if (owner?.type !== 'project' || owner.id !== caller.projectId) {
    const project = owner?.type === 'project' ? await findProject(db, owner.id) : undefined
    enforceInDomain(caller, OTHERS, owner?.type === 'domain' ? owner.id : project?.domain.id)
  }
  if (found === undefined) throw noSuchLimit(id)
  return found
}

export function noSuchRegisteredLimit(id: string): Failure {
  return noSuch('registered limit for', id)
}

export function noSuchLimit(id: string): Failure {
  return noSuch('limit for', id)
}
