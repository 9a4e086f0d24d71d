import type { Tx } from '#common/db/database.ts'
import type { HostId } from '#common/ids.ts'
import type { ServerGroupRule } from '#openapi/wire/instance.ts'
import type { Host } from '../hosts/host.ts'
import { maxUnitsOf } from '../hosts/offer.ts'
import { nodeResources, withNodes } from '../placement/choose-nodes.ts'
import { claim } from '../placement/claim.ts'
import { lockNodes } from '../placement/claim-nodes.ts'
import { joinGroup, leaveGroup } from '../placement/group.ts'
import type { NodeWish } from '../placement/node-wish.ts'
import { amountsOf, type Resources } from '../placement/resources.ts'
import { instancesMaxOf } from '../scheduler/select-hosts.ts'
import type { Conductor } from './conductor.ts'
import type { PlacedOn } from './instance.ts'

/** Who claims, and what. */
export interface Claimant {
  readonly consumer: string
  readonly resources: Resources
  /** What of them is of NUMA nodes, on a host where these are providers of their own; null: nothing. */
  readonly nodes: NodeWish | null
  /** Undefined: it is in no group. */
  readonly group: ServerGroupRule | undefined
}

export interface CandidateClaim {
  /** Undefined: every candidate had filled up. */
  readonly placed: PlacedOn | undefined
  /** Names of those that had. */
  readonly lost: readonly string[]
}

/** Claims the resources on the first of the candidates that still has them, and that the group still allows. */
export async function claimCandidate(
  tx: Tx,
  conductor: Conductor,
  candidates: readonly HostId[],
  claimant: Claimant,
): Promise<CandidateClaim> {
  const lost: string[] = []
  for (const hostId of candidates) {
    const placed = conductor.hosts.placedOn(hostId)
    if (placed === undefined) continue
    const claimed = await claimInGroup(tx, conductor, hostId, claimant)
    if (claimed !== undefined) return { placed: { ...placed, ...claimed }, lost }
    lost.push(placed.host)
  }
  return { placed: undefined, lost }
}

/** How many instances the scheduling allows the host; undefined: as many as have room. */
export function instancesAllowedOn(
  { hosts, scheduling }: Conductor,
  hostId: HostId,
): number | undefined {
  const state = hosts.state(hostId)
  return state === undefined ? undefined : instancesMaxOf(state, scheduling)
}

/** True for more of a class than the host gives one server, however much of it is free. */
export function isTooLarge(
  host: Pick<Host, 'inventory'> | undefined,
  { vcpus, memoryMb, diskGb, custom = {} }: Resources,
): boolean {
  if (host?.inventory == null) return false
  if (host.inventory.machines !== undefined && Object.values(custom).some((amount) => amount > 1))
    return true
  const most = maxUnitsOf(host.inventory)
  return vcpus > most.vcpus || memoryMb > most.memoryMb || diskGb > most.diskGb
}

/** What was chosen for the claimant while it claimed. */
type Claimed = Pick<PlacedOn, 'numa' | 'held'>

async function claimInGroup(
  tx: Tx,
  conductor: Conductor,
  hostId: HostId,
  claimant: Claimant,
): Promise<Claimed | undefined> {
  const { consumer, group } = claimant
  const instancesMax = instancesAllowedOn(conductor, hostId)
  if (group === undefined) return claimOnHost(tx, conductor, hostId, { ...claimant, instancesMax })
  if (!(await joinGroup(tx, group, hostId, consumer))) return undefined
  const claimed = await claimOnHost(tx, conductor, hostId, { ...claimant, instancesMax })
  if (claimed === undefined) await leaveGroup(tx, consumer, { groupId: group.id, hostId })
  return claimed
}

/**
 * Claims the resources on the host, and of its NUMA nodes, if they are providers of their own, on those that have room;
 * undefined, and nothing changed, when it has not. The claimant's group is not asked.
 */
export async function claimOnHost(
  tx: Tx,
  { hosts }: Pick<Conductor, 'hosts'>,
  hostId: HostId,
  claimant: Omit<Claimant, 'group'> & { readonly instancesMax?: number | undefined },
): Promise<Claimed | undefined> {
  const { consumer, resources, nodes, instancesMax } = claimant
  if (isTooLarge(hosts.get(hostId), resources)) return undefined
  const counted = nodes === null ? [] : hosts.countedNodes(hostId)
  const held = amountsOf(resources)
  if (nodes === null || counted.length === 0)
    return (await claim(tx, hostId, consumer, resources, instancesMax)) ? { held } : undefined
  const numa = await lockNodes(tx, hostId, counted, nodes)
  if (numa === undefined) return undefined
  if (!(await claim(tx, hostId, consumer, withNodes(resources, numa), instancesMax)))
    return undefined
  tx.afterCommit(() => hosts.reserveNodes(hostId, nodeResources(numa)))
  return { numa, held }
}
