import type { InstanceId } from '#common/ids.ts'
import { findMapping } from '../../../db/instance-mappings.ts'
import type { ComputeDeps } from '../../compute.ts'

const POLL_MS = 25

/** Returns once no request is changing the server, or after `limitMs`. */
export async function untilFree(
  { db, clock }: Pick<ComputeDeps, 'db' | 'clock'>,
  serverId: InstanceId,
  limitMs: number,
): Promise<void> {
  for (const end = clock.elapsed() + limitMs; clock.elapsed() < end; await clock.sleep(POLL_MS)) {
    const mapping = await findMapping(db, serverId)
    if (mapping === undefined || mapping.sagaId === null) return
  }
}
