import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import type { ServerGroupRule } from '#openapi/wire/instance.ts'
import { findServerGroup, type ServerGroup } from '../../db/server-groups.ts'
import type { Caller } from '../request-context.ts'

/** The group a boot's hint names; null: none. Throws `invalid` for one that is not there or another project's. */
export async function groupForBoot(
  db: Executor,
  { projectId }: Pick<Caller, 'projectId'>,
  hint: unknown,
): Promise<ServerGroup | null> {
  const [id] = [hint].flat()
  if (typeof id !== 'string' || id === '') return null
  const group = isUuid(id) ? await findServerGroup(db, id) : undefined
  if (group === undefined || group.projectId !== projectId) throw noSuchGroup(id)
  return group
}

export function noSuchGroup(id: string): Failure {
  return new Failure('invalid', `Instance group ${id} could not be found.`)
}

/** What a cell is told of the group. */
export function ruleOf({ id, policy, maxPerHost }: ServerGroup): ServerGroupRule {
  return { id, policy, maxPerHost: maxPerHost ?? 1 }
}
