import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { chargeUsage, queueUsageRefund, usageAndLimit } from '../../db/quota-usages.ts'

/** Amounts of what a project has, with Cinder's names and default limits, in the order every transaction charges them. */
export const VOLUME_LIMITS = { volumes: 10, gigabytes: 1_000 } as const

export type VolumeDeltas = Readonly<Partial<Record<keyof typeof VOLUME_LIMITS, number>>>

const RESOURCES = Object.keys(VOLUME_LIMITS) as readonly (keyof typeof VOLUME_LIMITS)[]

/** Afterwards the project's ledger counts what was asked for; throws `over-quota` when that passes a limit. Call it last. */
export async function chargeVolumes(
  tx: Tx,
  projectId: string,
  deltas: VolumeDeltas,
): Promise<void> {
  for (const resource of RESOURCES) {
    const units = deltas[resource] ?? 0
    const entry = {
      ownerId: projectId,
      projectId,
      resource,
      fallbackLimit: VOLUME_LIMITS[resource],
    }
    if (units === 0 || (await chargeUsage(tx, entry, units))) continue
    const { used, limit } = await usageAndLimit(tx, entry)
    throw new Failure('over-quota', overQuotaText(resource, { used, limit, units }))
  }
}

/** Afterwards the ledger counts so much less. Call it last. */
export function refundVolumes(tx: Tx, projectId: string, deltas: VolumeDeltas): void {
  for (const resource of RESOURCES) {
    const units = deltas[resource] ?? 0
    if (units > 0) queueUsageRefund(tx, { ownerId: projectId, resource }, units)
  }
}

/** Cinder's sentences (cinder/exception.py), which clients and people know. */
function overQuotaText(
  resource: keyof typeof VOLUME_LIMITS,
  { used, limit, units }: { readonly used: number; readonly limit: number; readonly units: number },
): string {
  if (resource === 'volumes')
    return `VolumeLimitExceeded: Maximum number of volumes allowed (${limit}) exceeded for quota 'volumes'.`
  return `VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed gigabytes quota. Requested ${units}G, quota is ${limit}G and ${used}G has been consumed.`
}
