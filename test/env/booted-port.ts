import { eq } from 'drizzle-orm'
import { systemClock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import { newId } from '#common/ids.ts'
import { FreeAddresses } from '#gateway/app/networks/free-addresses.ts'
import { PortKeys } from '#gateway/app/networks/tunnel-keys.ts'
import { ports } from '#gateway/db/schema/network.ts'
import { createNetwork, createPort, createSubnet } from './network-objects.ts'

/** A project with one port that a boot made for a server. */
export async function bootedPort(db: Database, serverId: string = newId()) {
  const projectId = newId<string>().replaceAll('-', '')
  const owner = { projectId, isAdmin: true }
  const networks = {
    db,
    clock: systemClock,
    freeAddresses: new FreeAddresses(systemClock),
    portKeys: new PortKeys(),
    mtuMax: 1500,
  }
  const network = await createNetwork(networks, owner, { name: 'net' })
  await createSubnet(networks, owner, {
    network_id: network.id,
    ip_version: 4,
    cidr: '10.0.0.0/24',
  })
  const port = await createPort(networks, owner, { network_id: network.id })
  const bound = { deviceId: serverId, deviceOwner: 'compute:nova', isBootMade: true }
  await db.orm.update(ports).set(bound).where(eq(ports.id, port.id))
  return { projectId, serverId, portId: port.id }
}
