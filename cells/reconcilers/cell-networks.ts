import type { Executor } from '#common/db/database.ts'
import type { HostId } from '#common/ids.ts'
import type { CellNetworks } from '#drivers/ovn/northbound/network-index.ts'
import type { WirePort } from '#openapi/wire/network.ts'
import type { Conductor } from '../conductor/conductor.ts'
import { type PortsPlace, portsPlaceOfEach } from '../db/instances.ts'
import { readNetworkState } from '../db/network-objects.ts'
import { liveDestinations } from '../db/server-migrations.ts'

/**
 * The networks as the gateways last sent them, with the hosts of moved servers and the NICs of machines as the cell knows
 * them, which is before the gateways do.
 */
export async function readCellNetworks(
  db: Executor,
  hosts: Conductor['hosts'],
): Promise<CellNetworks> {
  const state = await readNetworkState(db)
  const placed = state.ports.filter(({ hostId }) => hostId !== null)
  const serverIds = [...new Set(placed.map(({ deviceId }) => deviceId))]
  const places = await portsPlaceOfEach(db, serverIds)
  const ports = state.ports.map((port) => {
    const place = port.hostId === null ? undefined : places.get(port.deviceId)
    return ofMachine(place === undefined ? port : { ...port, hostId: place.hostId }, place, hosts)
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

/**
 * The port with the MAC address of the machine's NIC, if OVN joins its host. Elsewhere the site gives machines their
 * addresses, and OVN has nothing to do for them.
 */
function ofMachine(
  { isMachine, ...port }: WirePort,
  place: PortsPlace | undefined,
  hosts: Conductor['hosts'],
): WirePort {
  if (port.remoteHostId !== null) return isMachine === true ? { ...port, isMachine } : port
  if (port.hostId === null || !hosts.isJoinedByOvn(port.hostId as HostId)) return port
  const nic = place?.machineNics.find(({ portId }) => portId === port.id)
  return nic === undefined ? port : { ...port, mac: nic.macAddress, isMachine: true }
}
