import { Failure } from '#common/errors.ts'
import type { NewNode, NodeReport, Nodes } from '../nodes.ts'
import type { BaremetalHost } from './host.ts'
import { type Node, resourceClassOf, traitsOf } from './nodes/node.ts'
import type { NodeWork } from './nodes/node-work.ts'

/** The machines of a host, as operators see and change them. */
export function baremetalNodes(host: BaremetalHost, work: NodeWork): Nodes {
  const { nodes } = host
  return {
    list: async (signal) => {
      signal.throwIfAborted()
      return nodes.all().map(reportOf)
    },
    add: async (node, signal) => {
      signal.throwIfAborted()
      refuseNics(host, node)
      const added = await nodes.add(node)
      work.begin(added)
      return reportOf(added)
    },
    inspect: async (name, signal) => {
      signal.throwIfAborted()
      const node = nodes.named(name)
      refuseMaintained(node)
      await work.end(name)
      refuseHeld(node)
      await nodes.move(node, 'inspect')
      work.begin(node)
      return reportOf(node)
    },
    maintain: async (name, reason, signal) => {
      signal.throwIfAborted()
      const node = nodes.named(name)
      await nodes.maintain(node, reason)
      if (reason === null) work.begin(node)
      else await work.end(name)
      return reportOf(node)
    },
    remove: async (name, signal) => {
      signal.throwIfAborted()
      const node = nodes.all().find((one) => one.name === name)
      if (node === undefined) return
      await work.end(name)
      refuseHeld(node)
      await nodes.remove(node)
    },
    sensors: async (name, signal) => nodes.named(name).management.sensors(signal),
  }
}

function reportOf(node: Node): NodeReport {
  const { name, enrolled, record } = node
  const { macAddress, usesEfi, nics = [], bmc, maintenance } = enrolled
  const { state, failure, instance, isOn, parts } = record
  return {
    name,
    macAddress,
    usesEfi,
    nics,
    bmc: bmc === undefined ? null : { address: bmc.address, port: bmc.port, user: bmc.user },
    state,
    failure,
    maintenance: maintenance ?? null,
    instance,
    isOn,
    resourceClass: resourceClassOf(node) ?? enrolled.resourceClass ?? null,
    traits: traitsOf(node),
    parts,
  }
}

/** Throws `invalid` for NICs that no server's port could be. */
function refuseNics(
  { network, provisioningNetwork }: BaremetalHost,
  { name, macAddress, nics = [] }: NewNode,
): void {
  const refuse = (nic: string, reason: string) => {
    throw new Failure('invalid', `NIC ${nic} of node ${name} ${reason}`)
  }
  for (const [nth, nic] of nics.entries()) {
    if (network === 'host')
      refuse(
        nic.macAddress,
        'has a network, which has an effect with network=ovn only. Leave it out.',
      )
    if (nic.macAddress === macAddress)
      refuse(macAddress, 'boots the machine, and cannot be a NIC of servers. Name others.')
    if (nic.segment.split(':')[0] === provisioningNetwork)
      refuse(
        nic.macAddress,
        `is on ${provisioningNetwork}, from which machines boot, and on which servers have no ports. Name NICs on other networks.`,
      )
    if (nics.findIndex((other) => other.macAddress === nic.macAddress) < nth)
      refuse(nic.macAddress, 'is named twice. Name it once.')
  }
}

function refuseHeld({ name, record: { instance } }: Node): void {
  if (instance !== null)
    throw new Failure('conflict', `Node ${name} has server ${instance}. Delete the server first.`)
}

function refuseMaintained({ name, enrolled: { maintenance } }: Node): void {
  if (maintenance !== undefined)
    throw new Failure('conflict', `Node ${name} is in maintenance: ${maintenance}. End that first.`)
}
