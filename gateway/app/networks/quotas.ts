import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import {
  chargeQuota,
  clearQuotaLimits,
  quotaRows,
  refundQuota,
  setQuotaLimits,
} from '../../db/network-quotas.ts'
import type { Networks } from './networks.ts'

/** What is counted, with Neutron's default limits. */
export const DEFAULT_LIMITS = {
  network: 100,
  subnet: 100,
  port: 500,
  security_group: 10,
  security_group_rule: 100,
} as const
export type NetworkResource = keyof typeof DEFAULT_LIMITS
export const NETWORK_RESOURCES = Object.keys(DEFAULT_LIMITS) as readonly NetworkResource[]

export interface QuotaState {
  /** -1: none. */
  readonly limit: number
  readonly used: number
}

/** Counts `amount` more for the project; throws `over-quota` when that passes its limit. */
export async function charge(
  tx: Tx,
  projectId: string,
  resource: NetworkResource,
  amount = 1,
): Promise<void> {
  const defaultLimit = DEFAULT_LIMITS[resource]
  if (await chargeQuota(tx, { projectId, resource, amount, defaultLimit })) return
  throw new Failure('over-quota', `Quota exceeded for resources: ['${resource}'].`)
}

/** Counts `amount` less for the project. */
export async function refund(
  tx: Tx,
  projectId: string,
  resource: NetworkResource,
  amount = 1,
): Promise<void> {
  if (amount > 0) await refundQuota(tx, { projectId, resource, amount })
}

export async function showQuotas(
  networks: Networks,
  projectId: string,
): Promise<Readonly<Record<NetworkResource, QuotaState>>> {
  const rows = new Map((await quotaRows(networks.db, projectId)).map((row) => [row.resource, row]))
  const states = NETWORK_RESOURCES.map((resource) => {
    const row = rows.get(resource)
    return [resource, { limit: row?.limit ?? DEFAULT_LIMITS[resource], used: row?.used ?? 0 }]
  })
  return Object.fromEntries(states) as Record<NetworkResource, QuotaState>
}

/** Afterwards these limits hold; what is used already stays. */
export async function updateQuotas(
  networks: Networks,
  projectId: string,
  limits: Readonly<Partial<Record<NetworkResource, number>>>,
): Promise<void> {
  const given = Object.entries(limits).filter((entry) => entry[1] !== undefined)
  await networks.db.transaction((tx) => setQuotaLimits(tx, projectId, Object.fromEntries(given)))
}

/** Afterwards the defaults hold. */
export async function resetQuotas(networks: Networks, projectId: string): Promise<void> {
  await networks.db.transaction((tx) => clearQuotaLimits(tx, projectId))
}
