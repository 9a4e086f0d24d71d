import { Failure } from '#common/errors.ts'
import type { Port } from '../../../db/network.ts'
import { queueGroupBindings, unbindGroup } from '../../../db/port-inserts.ts'
import { securityGroupsNamed } from '../../../db/security-groups.ts'
import type { Networks } from '../../networks/list-networks.ts'
import { showServerNics } from '../../networks/machine-nics.ts'
import { refuseWithoutEffect } from '../../networks/refuse-without-effect.ts'
import type { Requester } from '../../requester.ts'
import { showServer } from '../list/show-server.ts'
import { serverInterfaces } from './server-interfaces.ts'

/**
 * Afterwards every port of the server has the group. Throws `not-found` for server or group, `conflict` for an
 * ambiguous name, `invalid` where each has it already, for a port without port security or addresses and for a
 * host where groups have no effect.
 */
export async function addServerGroup(
  networks: Networks,
  requester: Requester,
  id: string,
  nameOrId: string,
): Promise<void> {
  const { groupId, ports } = await concerned(networks, requester, id, nameOrId)
  await refuseWithoutEffect(networks, id)
  if (ports.some((port) => !port.hasPortSecurity || port.fixedIps.length === 0))
    throw new Failure(
      'invalid',
      'Network requires port_security_enabled and subnet associated in order to apply security groups.',
    )
  const without = ports.filter((port) => !port.securityGroupIds.includes(groupId))
  if (without.length === 0)
    throw new Failure(
      'invalid',
      `Every port of instance ${id} has security group ${nameOrId} already.`,
    )
  await networks.db.transaction(async (tx) => {
    for (const port of without) queueGroupBindings(tx, port.id, [groupId])
    await showServerNics(tx, id)
  })
}

/** Afterwards no port of the server has the group. Throws `not-found`, also where none had it; `conflict`. */
export async function removeServerGroup(
  networks: Networks,
  requester: Requester,
  id: string,
  nameOrId: string,
): Promise<void> {
  const { groupId, ports } = await concerned(networks, requester, id, nameOrId)
  const having = ports.filter((port) => port.securityGroupIds.includes(groupId))
  if (having.length === 0)
    throw new Failure(
      'not-found',
      `Security group ${nameOrId} is not associated with the instance ${id}`,
    )
  await networks.db.transaction(async (tx) => {
    for (const port of having) await unbindGroup(tx, port.id, groupId)
    await showServerNics(tx, id)
  })
}

interface Concerned {
  readonly groupId: string
  readonly ports: readonly Port[]
}

async function concerned(
  networks: Networks,
  requester: Requester,
  id: string,
  nameOrId: string,
): Promise<Concerned> {
  const { projectId } = await showServer(networks.db, requester, id)
  const ports = await serverInterfaces(networks.db, requester, id)
  const found = await securityGroupsNamed(networks.db, projectId, [nameOrId], 2)
  const group = found.find((each) => each.id === nameOrId) ?? found[0]
  if (group === undefined)
    throw new Failure(
      'not-found',
      `Security group ${nameOrId} is not found for project ${projectId}`,
    )
  if (found.length > 1 && group.id !== nameOrId)
    throw new Failure(
      'conflict',
      `Multiple security_group matches found for name '${nameOrId}', use an ID to be more specific.`,
    )
  if (ports.length === 0)
    throw new Failure('not-found', `instance_id ${id} could not be found as device id on any ports`)
  return { groupId: group.id, ports }
}
