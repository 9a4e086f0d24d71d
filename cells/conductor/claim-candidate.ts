import type { Tx } from '#common/db/database.ts'
import type { HostId } from '#common/ids.ts'
import type { ServerGroupRule } from '#openapi/wire/instance.ts'
import { claim } from '../placement/claim.ts'
import { joinGroup, leaveGroup } from '../placement/group.ts'
import type { Resources } from '../placement/resources.ts'
import { instancesMaxOf } from '../scheduler/select-hosts.ts'
import type { Conductor } from './conductor.ts'
import type { PlacedOn } from './instance.ts'

/** Who claims, and what. */
export interface Claimant {
  readonly consumer: string
  readonly resources: Resources
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
    if (await claimOn(tx, hostId, claimant, instancesAllowedOn(conductor, hostId)))
      return { placed, lost }
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

async function claimOn(
  tx: Tx,
  hostId: HostId,
  { consumer, resources, group }: Claimant,
  instancesMax: number | undefined,
): Promise<boolean> {
  if (group === undefined) return claim(tx, hostId, consumer, resources, instancesMax)
  if (!(await joinGroup(tx, group, hostId, consumer))) return false
  if (await claim(tx, hostId, consumer, resources, instancesMax)) return true
  await leaveGroup(tx, consumer, { groupId: group.id, hostId })
  return false
}
