import { type Static, Type } from 'typebox'
import type { NetworkId } from '#common/ids.ts'
import type { Cloud } from '../cloud/cloud.ts'
import { Id } from '../cloud/id.ts'
import { idsOf, isInterfaceName } from '../names.ts'

const ListedPort = Type.Object({
  id: Id,
  name: Type.String(),
  network_id: Id,
  device_id: Type.String(),
  device_owner: Type.String(),
  fixed_ips: Type.Array(Type.Object({ ip_address: Type.String() })),
})
export type ListedPort = Static<typeof ListedPort>

const Ports = Type.Object({ ports: Type.Array(ListedPort) })
const Networks = Type.Object({
  networks: Type.Array(Type.Object({ id: Id, name: Type.String() })),
})

/** Of a port by which a router of ours is on a network. */
export function isInterface({ device_owner: owner }: ListedPort): boolean {
  return (
    owner.startsWith('network:router_interface') ||
    owner === 'network:ha_router_replicated_interface'
  )
}

/** True of a port of ours for a router that was not attached to it, because the router went meanwhile. */
export function isUnattached(port: ListedPort): boolean {
  return isInterfaceName(port.name) && !isInterface(port)
}

/** True of a port that was made for a guest of some host of ours. */
export function isGuestPort({ name }: ListedPort): boolean {
  return idsOf([name]).length > 0
}

/** The networks of ours and the ports in the project below. */
export interface Topology {
  /** By our ids, those there. */
  readonly networks: ReadonlyMap<string, string>
  readonly ports: readonly ListedPort[]
}

/** The networks, ports, routers and floating IPs of the project in the cloud, as it reports them now. */
export async function readTopology(cloud: Cloud, signal: AbortSignal): Promise<Topology> {
  const { projectId } = await cloud.access(signal)
  const asked = { query: { project_id: projectId }, signal }
  const { networks } = (await cloud.ask(Networks, 'network', 'GET', '/networks', asked)).body
  const { ports } = (await cloud.ask(Ports, 'network', 'GET', '/ports', asked)).body
  const ours = networks.flatMap(({ id, name }) =>
    idsOf<NetworkId>([name]).map((our) => [our, id] as const),
  )
  return { networks: new Map(ours), ports }
}

/** The ports on one network there. */
export async function portsOn(
  cloud: Cloud,
  networkId: string,
  signal: AbortSignal,
): Promise<readonly ListedPort[]> {
  const asked = { query: { network_id: networkId }, signal }
  return (await cloud.ask(Ports, 'network', 'GET', '/ports', asked)).body.ports
}
