import type { HostId } from '#common/ids.ts'
import type { NumaRequest } from '#common/numa.ts'
import type { RequestedTraits } from '#common/traits.ts'
import type { ServerGroupRule } from '#openapi/wire/instance.ts'
import type { NodeWish } from '../placement/node-wish.ts'
import type { Resources } from '../placement/resources.ts'

/** A request for a host. */
export interface PlacementRequest {
  readonly resources: Resources
  readonly flavorName: string
  readonly image: {
    /** Absent where a gateway of the former release asks for a dry run. */
    readonly id?: string
    readonly diskFormat: string
    readonly properties: Readonly<Record<string, string>>
  }
  /** Of the flavor. */
  readonly extraSpecs: Readonly<Record<string, string>>
  /** Of flavor and image. */
  readonly traits: RequestedTraits
  /** The memory nodes that its guest is to have; null: it does not matter. */
  readonly numa: NumaRequest | null
  /** What it takes of NUMA nodes, of hosts of which claims count it; null: nothing, or it is claimed apart. */
  readonly nodes: NodeWish | null
  /** Those without a field of their own here. */
  readonly hints: Readonly<Record<string, readonly string[]>>
  readonly projectId: string
  /** Only a host will do where security groups have effect. */
  readonly needsFirewall: boolean
  /** Of each NIC, where its network is in the site, such as `SITE:7`; null: a tenant network, in tunnels. */
  readonly segments: readonly (string | null)[]
  /** Null: any. */
  readonly zone: string | null
  /** By name; null: the scheduler's choice. */
  readonly requestedHost: string | null
  /** Hosts that have failed to build this server. */
  readonly triedHosts: ReadonlySet<string>
  /** The server's group, with how many of its servers each host holds; null: it is in none. */
  readonly group: (ServerGroupRule & { readonly members: ReadonlyMap<HostId, number> }) | null
  /** Where the servers are that it is to be beside; null: it may be anywhere. */
  readonly sameHosts: ReadonlySet<HostId> | null
  /** Where the servers are that it is not to be beside. */
  readonly differentHosts: ReadonlySet<HostId>
  /** Hosts that can have its volumes; null: it has none. */
  readonly storeHosts: ReadonlySet<HostId> | null
}
