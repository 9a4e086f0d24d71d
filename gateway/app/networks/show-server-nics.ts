import type { Tx } from '#common/db/database.ts'
import { findSecurityGroups } from '../../db/security-groups.ts'
import { showNics } from '../../db/server-ports.ts'
import { serverAddresses } from './nic-views.ts'
import { serverNics } from './server-ports.ts'

/** Afterwards the server shows the addresses and security groups that its ports have now. */
export async function showServerNics(tx: Tx, serverId: string): Promise<void> {
  const nics = await serverNics(tx, serverId)
  const ids = [...new Set(nics.flatMap(({ port }) => port.securityGroupIds))]
  const groups = await findSecurityGroups(tx, ids)
  const names = [...new Set(groups.map(({ name }) => name))].sort()
  await showNics(tx, serverId, { addresses: serverAddresses(nics), securityGroups: names })
}
