import type { Executor } from '#common/db/database.ts'
import type { CellNetworks } from '#drivers/ovn/northbound/network-index.ts'
import type { Conductor } from '../conductor/conductor.ts'
import { hostOfEach } from '../db/instances.ts'
import { readNetworkState } from '../db/network-objects.ts'
import { liveDestinations } from '../db/server-migrations.ts'

/**
 * The networks as the gateways last sent them, with the hosts of moved servers as the cell knows them, which is before
 * the gateways do.
 */
export async function readCellNetworks(
  db: Executor,
  hosts: Conductor['hosts'],
): Promise<CellNetworks> {
  const state = await readNetworkState(db)
  const placed = state.ports.filter(({ hostId }) => hostId !== null)
  const serverIds = [...new Set(placed.map(({ deviceId }) => deviceId))]
  const hostOf = await hostOfEach(db, serverIds)
  const ports = state.ports.map((port) => {
    const hostId = port.hostId === null ? undefined : hostOf.get(port.deviceId)
    return hostId === undefined ? port : { ...port, hostId }
  })
  const moving = await liveDestinations(db)
  if (moving.size === 0) return { ...state, ports }
  const idOf = new Map(hosts.all().map(({ id, name }) => [name, id]))
  const destinations = placed.flatMap(({ id, deviceId }) => {
    const destination = idOf.get(moving.get(deviceId) ?? '')
    return destination === undefined ? [] : [[id, destination] as const]
  })
  return { ...state, ports, destinations: new Map(destinations) }
}
