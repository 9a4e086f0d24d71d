import type { HostId } from '#common/ids.ts'
import type { NumaNode } from '#common/numa.ts'
import type { Inventory } from '#openapi/wire/host.ts'
import type { HostAggregate } from '#openapi/wire/provider.ts'
import type { CountedNode } from '../placement/choose-nodes.ts'
import type { CountedResource, Resources } from '../placement/resources.ts'

/** What hosts can have in common: those that differ in nothing of it are of one kind. */
export interface HostKind {
  readonly zone: string
  readonly isUp: boolean
  readonly isDisabled: boolean
  /** No guest really runs there. */
  readonly simulated: boolean
  /** Security groups have effect there, or there is nothing for them to have effect on. */
  readonly filtersPorts: boolean
  /** Where NICs of its machines are in the site; null: its guests can be on any network, or the site alone knows. */
  readonly machineSegments: readonly string[] | null
  /** The physical networks that some host of the cell has a bridge for. */
  readonly mappedNetworks: readonly string[]
  readonly hypervisorType: string
  /** major * 1000000 + minor * 1000 + micro. */
  readonly hypervisorVersion: number
  readonly architecture: string
  readonly traits: readonly string[]
  /** It gives whole machines, one to a server. */
  readonly isOfMachines: boolean
  /** Of its machines, each list of some; null: it has no machines. */
  readonly machineTraits: readonly (readonly string[])[] | null
  /** Its NUMA nodes, taken or not; null: it does not say. */
  readonly numa: readonly NumaNode[] | null
  /** Extra specs about hardware that have an effect there; null: all have, or the host does not say. */
  readonly extraSpecs: readonly string[] | null
  /** Properties of images, likewise: names, or `NAME=VALUE` where no other value has an effect. */
  readonly imageProperties: readonly string[] | null
  /** Its backend gives servers flavors of its own, which must ask for the same hardware. */
  readonly hasOwnFlavors: boolean
  readonly imageFormats: readonly string[]
  readonly aggregates: readonly HostAggregate[]
}

/** A host as the scheduler sees it. `used` is a hint that may lag; only the claim decides. */
export interface HostState extends HostKind {
  readonly hostId: HostId
  readonly name: string
  readonly hypervisorHostname: string
  /** Where the host is in its network; null: it does not report that. */
  readonly address: string | null
  readonly cpu: Inventory['cpu']
  /** The most that may be in use, overcommit included. */
  readonly limits: Resources
  /** The most that one server gets: what the host has, however often it is promised (Placement: `max_unit`). */
  readonly maxUnits: Readonly<Record<CountedResource, number>>
  readonly used: Resources
  /** The NUMA nodes of which claims count what they have; empty: the host decides what of its nodes it gives. */
  readonly countedNodes: readonly CountedNode[]
  /** As claims count: a server has a second one while its resize waits to be confirmed. */
  readonly instances: number
  /** How many its backend takes; absent: as many as fit. */
  readonly instancesMax?: number
  /** Its servers that are being built, resized, moved, saved or rebuilt; 0 where nothing asks for the number. */
  readonly ioOps: number
  /** Builds that have failed there, as far as this process knows, since one succeeded. */
  readonly buildFailures: number
  /** What the host last said of its load, by Nova's names, such as `cpu.percent`; empty: nothing that this process has heard. */
  readonly metrics: Readonly<Record<string, number>>
  /** How many of its servers have an image with a property, by `NAME=VALUE`; empty where nothing asks for it. */
  readonly imagePropertyUses: ReadonlyMap<string, number>
}
