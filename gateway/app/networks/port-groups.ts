import { Failure } from '#common/errors.ts'
import { securityGroupsNamed } from '../../db/security-groups.ts'
import { ensureDefaultGroup } from './default-group.ts'
import type { Networks } from './list-networks.ts'
import type { NicPlan } from './nic-request.ts'

const GROUPS_MAX = 100

/** The groups named. Throws `invalid` for one that is not the project's, `conflict` for an ambiguous name. */
export async function groupsForBoot(
  networks: Networks,
  projectId: string,
  idsOrNames: readonly string[],
  needsGroups: boolean,
): Promise<NicPlan['securityGroups']> {
  const asked = [...new Set(idsOrNames)]
  if (asked.length > GROUPS_MAX)
    throw new Failure('invalid', `A server takes at most ${GROUPS_MAX} security groups.`)
  const isDefaultOnly = asked.length === 0 || (asked.length === 1 && asked[0] === 'default')
  if (isDefaultOnly) {
    if (!needsGroups) return []
    return [{ id: await ensureDefaultGroup(networks, projectId), name: 'default' }]
  }
  if (asked.includes('default')) await ensureDefaultGroup(networks, projectId)
  const found = await securityGroupsNamed(networks.db, projectId, asked, GROUPS_MAX * 2)
  return asked.map((wanted) => {
    const byId = found.find((group) => group.id === wanted)
    if (byId !== undefined) return byId
    const [named, second] = found.filter((group) => group.name === wanted)
    if (named === undefined)
      throw new Failure('invalid', `Unable to find security_group with name or id '${wanted}'`)
    if (second !== undefined)
      throw new Failure(
        'conflict',
        `Multiple security_group matches found for name '${wanted}', use an ID to be more specific.`,
      )
    return named
  })
}

/**
 * The groups of a port: the requested ones, or the project's default one. Throws `not-found` for a group of another
 * project.
 */
export async function groupsForPort(
  networks: Networks,
  projectId: string,
  hasPortSecurity: boolean,
  asked: readonly string[] | undefined,
): Promise<readonly string[]> {
  if (asked === undefined)
    return hasPortSecurity ? [await ensureDefaultGroup(networks, projectId)] : []
  const ids = [...new Set(asked)]
  if (ids.length > GROUPS_MAX)
    throw new Failure('invalid', `A port takes at most ${GROUPS_MAX} security groups.`)
  if (ids.length > 0 && !hasPortSecurity)
    throw new Failure(
      'conflict',
      'Port security must be enabled in order to have a security group on a port.',
    )
  const found =
    ids.length === 0 ? [] : await securityGroupsNamed(networks.db, projectId, ids, GROUPS_MAX * 2)
  const missing = ids.find((id) => !found.some((group) => group.id === id))
  if (missing !== undefined)
    throw new Failure('not-found', `Security group ${missing} does not exist`)
  return ids
}
