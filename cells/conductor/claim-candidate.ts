import type { Tx } from '#common/db/database.ts'
import type { HostId } from '#common/ids.ts'
import { claim } from '../placement/claim.ts'
import type { Resources } from '../placement/resources.ts'
import type { Conductor } from './conductor.ts'
import type { PlacedOn } from './instance.ts'

export interface CandidateClaim {
  /** Undefined: every candidate had filled up. */
  readonly placed: PlacedOn | undefined
  /** Names of those that had. */
  readonly lost: readonly string[]
}

/** Claims the resources on the first of the candidates that still has them. */
export async function claimCandidate(
  tx: Tx,
  { hosts }: Conductor,
  candidates: readonly HostId[],
  consumer: string,
  resources: Resources,
): Promise<CandidateClaim> {
  const lost: string[] = []
  for (const hostId of candidates) {
    const placed = hosts.placedOn(hostId)
    if (placed === undefined) continue
    if (await claim(tx, hostId, consumer, resources)) return { placed, lost }
    lost.push(placed.host)
  }
  return { placed: undefined, lost }
}
