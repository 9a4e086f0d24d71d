import type { Executor } from '#common/db/database.ts'
import type { PortFilter } from '#openapi/wire/firewall.ts'
import { addressesOfGroups, portsOnHosts } from '../../db/filtered-ports.ts'
import type { Port } from '../../db/network.ts'
import { findNetworks } from '../../db/networks.ts'
import { findPorts } from '../../db/ports.ts'
import { rulesOfGroups } from '../../db/security-group-rules.ts'
import { subnetsOfNetworks } from '../../db/subnets.ts'
import type { ServerNic } from './nic-request.ts'
import { nicSpecs } from './nic-views.ts'
import { type GroupRules, portRules } from './port-rules.ts'

/** The present rules of every port on these hosts, by host. */
export async function hostFilters(
  db: Executor,
  hostIds: readonly string[],
): Promise<ReadonlyMap<string, readonly PortFilter[]>> {
  const hosted = await portsOnHosts(db, hostIds)
  const ports = await findPorts(
    db,
    hosted.map(({ portId }) => portId),
  )
  const nics = new Map((await withNetworks(db, ports)).map((nic) => [nic.port.id, nic]))
  const groups = await groupRules(db, ports)
  const filters = hosted.flatMap(({ portId, serverId, hostId }) => {
    const nic = nics.get(portId)
    if (nic === undefined) return []
    const [spec] = nicSpecs([nic])
    const rules = portRules(nic.port, groups)
    const groupIds = nic.port.securityGroupIds.toSorted()
    return [{ hostId, filter: { serverId, nic: spec!, rules, groupIds } }]
  })
  const byHost = Map.groupBy(filters, ({ hostId }) => hostId)
  return new Map([...byHost].map(([id, found]) => [id, found.map(({ filter }) => filter)]))
}

async function withNetworks(db: Executor, ports: readonly Port[]): Promise<readonly ServerNic[]> {
  const ids = [...new Set(ports.map(({ networkId }) => networkId))]
  const networks = new Map((await findNetworks(db, ids)).map((network) => [network.id, network]))
  const subnets = Map.groupBy(await subnetsOfNetworks(db, ids), (subnet) => subnet.networkId)
  return ports.flatMap((port) => {
    const network = networks.get(port.networkId)
    if (network === undefined) return []
    return [{ port, network, subnets: subnets.get(network.id) ?? [] }]
  })
}

async function groupRules(db: Executor, ports: readonly Port[]): Promise<GroupRules> {
  const groupIds = [...new Set(ports.flatMap(({ securityGroupIds }) => securityGroupIds))]
  const rules = await rulesOfGroups(db, groupIds)
  const named = [...rules.values()].flat().flatMap(({ remoteGroupId }) => remoteGroupId ?? [])
  return { rules, members: await addressesOfGroups(db, [...new Set(named)]) }
}
