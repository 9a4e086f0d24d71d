import type { NodeView } from '#openapi/wire/node.ts'

/** A machine of a host as the federation API shows it. */
export function nodeView(hostId: string, node: NodeView) {
  const { name, macAddress, usesEfi, bmc, state, failure, maintenance, serverId, isOn } = node
  return {
    name,
    host_id: hostId,
    mac_address: macAddress,
    uses_efi: usesEfi,
    bmc,
    state,
    failure,
    maintenance,
    server_id: serverId,
    is_on: isOn,
    resource_class: node.resourceClass,
    traits: node.traits,
    parts: node.parts && partsView(node.parts),
  }
}

function partsView(parts: NonNullable<NodeView['parts']>) {
  const { cpus, cpuModel, architecture, memoryMb, disks, macAddresses } = parts
  return {
    cpus,
    cpu_model: cpuModel,
    architecture,
    memory_mb: memoryMb,
    disks: disks.map(({ name, sizeBytes }) => ({ name, size_bytes: sizeBytes })),
    mac_addresses: macAddresses,
  }
}
