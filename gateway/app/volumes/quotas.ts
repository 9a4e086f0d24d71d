import type { Executor, Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import {
  chargeVolumeQuota,
  queueVolumeRefund,
  type VolumeCharge,
  volumeQuotaRows,
} from '../../db/volume-quotas.ts'
import { volumeLimits } from './quota-limits.ts'
import {
  COUNTED,
  type Counted,
  DEFAULT_LIMITS,
  resourceOfType,
  UNLIMITED,
} from './quota-resources.ts'

/** Whose volumes are counted, and of which type; null: of none. */
export interface VolumeOwner {
  readonly projectId: string
  readonly typeId: string | null
}

/** Numbers of volumes and snapshots, and GiB of both together. */
export type VolumeAmounts = Readonly<Partial<Record<Counted, number>>>

/**
 * Afterwards the project's ledger counts so much more, in all and of the type. Throws `over-quota`, naming the first
 * limit that would be passed, and then the transaction must not commit. Call it last: its rows are the most contended.
 */
export async function chargeVolumes(
  tx: Tx,
  owner: VolumeOwner,
  amounts: VolumeAmounts,
): Promise<void> {
  for (const { counted, charge, isOfType } of chargesOf(owner, amounts))
    if (!(await chargeVolumeQuota(tx, charge))) throw await overQuota(tx, counted, charge, isOfType)
}

/** Afterwards the project's ledger counts so much less, in all and of the type, never below zero. Call it last. */
export function refundVolumes(tx: Tx, owner: VolumeOwner, amounts: VolumeAmounts): void {
  for (const { charge } of chargesOf(owner, amounts)) queueVolumeRefund(tx, charge)
}

/** The same of the type alone: a volume that changes its type counts in both until it has changed, and once in all. */
export async function chargeType(
  tx: Tx,
  owner: VolumeOwner,
  amounts: VolumeAmounts,
): Promise<void> {
  for (const { counted, charge, isOfType } of chargesOf(owner, amounts))
    if (isOfType && !(await chargeVolumeQuota(tx, charge)))
      throw await overQuota(tx, counted, charge, isOfType)
}

/** Afterwards the project's ledger counts so much less of the type. Call it last. */
export function refundType(tx: Tx, owner: VolumeOwner, amounts: VolumeAmounts): void {
  for (const { charge, isOfType } of chargesOf(owner, amounts))
    if (isOfType) queueVolumeRefund(tx, charge)
}

/** Throws `over-quota` for a volume of more GiB than one volume of the project may have. */
export async function refuseLargeVolume(
  db: Executor,
  projectId: string,
  gigabytes: number,
): Promise<void> {
  const { per_volume_gigabytes: limit } = (await volumeLimits(db, projectId)).limits
  if (limit !== UNLIMITED && gigabytes > limit)
    throw new Failure(
      'over-quota',
      `VolumeSizeExceedsLimit: Requested volume size ${gigabytes}G is larger than maximum allowed limit ${limit}G.`,
    )
}

interface OneCharge {
  readonly counted: Counted
  readonly charge: VolumeCharge
  readonly isOfType: boolean
}

function chargesOf({ projectId, typeId }: VolumeOwner, amounts: VolumeAmounts): OneCharge[] {
  return COUNTED.flatMap((counted) => {
    const amount = amounts[counted] ?? 0
    if (amount <= 0) return []
    const inAll = {
      counted,
      charge: { projectId, amount, resource: counted, defaultLimit: DEFAULT_LIMITS[counted] },
      isOfType: false,
    }
    if (typeId === null) return [inAll]
    const resource = resourceOfType(counted, typeId)
    const ofType = { projectId, amount, resource, defaultLimit: UNLIMITED }
    return [inAll, { counted, charge: ofType, isOfType: true }]
  })
}

/** In Cinder's words, which clients and people know. */
async function overQuota(
  tx: Tx,
  counted: Counted,
  { projectId, resource, amount }: VolumeCharge,
  isOfType: boolean,
): Promise<Failure> {
  const used = (await volumeQuotaRows(tx, projectId)).find((row) => row.resource === resource)?.used
  const { limits, byType } = await volumeLimits(tx, projectId)
  const limit = isOfType ? (byType.get(resource) ?? UNLIMITED) : limits[counted]
  const name = isOfType ? `${counted} of its type` : counted
  switch (counted) {
    case 'gigabytes':
      return new Failure(
        'over-quota',
        `VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed ${name} quota. Requested ${amount}G, quota is ${limit}G and ${used ?? 0}G has been consumed.`,
      )
    case 'snapshots':
      return new Failure(
        'over-quota',
        `SnapshotLimitExceeded: Maximum number of snapshots allowed (${limit}) exceeded for quota '${name}'.`,
      )
    case 'volumes':
      return new Failure(
        'over-quota',
        `VolumeLimitExceeded: Maximum number of volumes allowed (${limit}) exceeded for quota '${name}'.`,
      )
  }
}
