import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { GuestTopology, Topology } from '../topology.ts'
import { filesOf, type LibvirtHost } from './host.ts'
import { type InstanceRecord, readInstanceRecord } from './instance-record.ts'

export function libvirtTopology(host: LibvirtHost): Topology {
  return {
    read: async (id: InstanceId) => {
      const record = await readInstanceRecord(filesOf(host, id))
      if (record === undefined)
        throw new Failure('not-found', `Instance ${id} could not be found on this host.`)
      return topologyOf(record)
    },
  }
}

/** A guest that has its own CPUs and no memory nodes is as one node to Nova. */
function topologyOf({
  domain: { flavor },
  placement,
  isAdopted,
}: InstanceRecord): GuestTopology | null {
  const { pins, nodes, pageKib = null } = placement ?? {}
  if (isAdopted === true || (nodes === undefined && pins === undefined)) return null
  const { memoryMb } = flavor
  const vcpus = Array.from({ length: flavor.vcpus }, (_, vcpu) => vcpu)
  return {
    pageKib,
    nodes: (nodes ?? [{ vcpus, memoryMb, hostNode: null }]).map((node) => ({
      ...node,
      pins: pins === undefined ? [] : node.vcpus.map((vcpu) => pins[vcpu]!),
    })),
  }
}
