import type { Tx } from '#common/db/database.ts'
import type { HostId } from '#common/ids.ts'
import type { ServerGroupRule } from '#openapi/wire/instance.ts'
import { claim } from '../placement/claim.ts'
import { joinGroup, leaveGroup } from '../placement/group.ts'
import type { Resources } from '../placement/resources.ts'
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
  { hosts }: Conductor,
  candidates: readonly HostId[],
  claimant: Claimant,
): Promise<CandidateClaim> {
  const lost: string[] = []
  for (const hostId of candidates) {
    const placed = hosts.placedOn(hostId)
    if (placed === undefined) continue
    if (await claimOn(tx, hostId, claimant)) return { placed, lost }
    lost.push(placed.host)
  }
  return { placed: undefined, lost }
}

async function claimOn(
  tx: Tx,
  hostId: HostId,
  { consumer, resources, group }: Claimant,
): Promise<boolean> {
  if (group === undefined) return claim(tx, hostId, consumer, resources)
  if (!(await joinGroup(tx, group, hostId, consumer))) return false
  if (await claim(tx, hostId, consumer, resources)) return true
  await leaveGroup(tx, consumer, { groupId: group.id, hostId })
  return false
}
