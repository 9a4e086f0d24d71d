import { Failure } from '#common/errors.ts'
import { securityGroupsNamed } from '../../db/security-groups.ts'
import { ensureDefaultGroup } from './default-group.ts'
import type { Networks } from './networks.ts'

const GROUPS_MAX = 100

/** The groups of a port: those asked for by id, or the project's default one. Throws `not-found` for a foreign one. */
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
