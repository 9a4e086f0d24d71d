import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import {
  chargeQuota,
  clearQuotaLimits,
  projectsWithLimits,
  type QuotaRow,
  queueQuotaRefund,
  quotaRows,
  setQuotaLimits,
} from '../../db/network-quotas.ts'
import type { Requester } from '../requester.ts'
import type { Networks } from './list-networks.ts'

/** The counted resources, with Neutron's default limits. */
export const DEFAULT_LIMITS = {
  floatingip: 50,
  network: 100,
  subnet: 100,
  subnetpool: -1,
  port: 500,
  rbac_policy: 10,
  router: 10,
  security_group: 10,
  security_group_rule: 100,
} as const
export type NetworkResource = keyof typeof DEFAULT_LIMITS
const NETWORK_RESOURCES = Object.keys(DEFAULT_LIMITS) as readonly NetworkResource[]

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
export function refund(tx: Tx, projectId: string, resource: NetworkResource, amount = 1): void {
  if (amount > 0) queueQuotaRefund(tx, { projectId, resource, amount })
}

export type Quotas = Readonly<Record<NetworkResource, QuotaState>>

export interface ProjectQuotas {
  readonly projectId: string
  readonly quotas: Quotas
}

const PROJECTS_MAX = 1_000

/** The projects that have limits of their own. */
export async function listQuotas(networks: Networks): Promise<readonly ProjectQuotas[]> {
  const projectIds = await projectsWithLimits(networks.db, PROJECTS_MAX)
  const listed: ProjectQuotas[] = []
  for (const projectId of projectIds)
    listed.push({ projectId, quotas: await quotasOf(networks, projectId) })
  return listed
}

/** The project's limits and usage; `not-found` for another project. */
export async function showQuotas(
  networks: Networks,
  requester: Requester,
  projectId: string,
): Promise<Quotas> {
  refuseForeign(requester, projectId)
  return quotasOf(networks, projectId)
}

/** The limits of a project without limits of its own; `not-found` for another project. */
export function showDefaultQuotas(requester: Requester, projectId: string): Quotas {
  refuseForeign(requester, projectId)
  return quotaStates(new Map())
}

/** As in the service's document; Neutron does not check that the project exists either. */
const PROJECT_ID = /^[0-9A-Za-z-]{1,64}$/

/** Afterwards these limits hold; resources used already stay. Throws `invalid` for text that can be no project's id. */
export async function updateQuotas(
  networks: Networks,
  requester: Requester,
  projectId: string,
  limits: Readonly<Partial<Record<NetworkResource, number>>>,
): Promise<Quotas> {
  if (!PROJECT_ID.test(projectId))
    throw new Failure(
      'invalid',
      `${projectId} is not the id of a project: use letters, digits and dashes.`,
    )
  const given = Object.entries(limits).filter((entry) => entry[1] !== undefined)
  await networks.db.transaction((tx) => setQuotaLimits(tx, projectId, Object.fromEntries(given)))
  return showQuotas(networks, requester, projectId)
}

/** Afterwards the defaults hold. */
export async function resetQuotas(networks: Networks, projectId: string): Promise<void> {
  await networks.db.transaction((tx) => clearQuotaLimits(tx, projectId))
}

function refuseForeign(requester: Requester, projectId: string): void {
  if (requester.isAdmin || requester.projectId === projectId) return
  throw new Failure('not-found', `No quota is found for project ${projectId}.`)
}

/** The project's limits and usage; the caller's rights are not checked. */
export async function quotasOf(networks: Pick<Networks, 'db'>, projectId: string): Promise<Quotas> {
  const rows = await quotaRows(networks.db, projectId)
  return quotaStates(new Map(rows.map((row) => [row.resource, row])))
}

/** Of every resource, from the rows of those for which there is one. */
export function quotaStates(rows: ReadonlyMap<string, Omit<QuotaRow, 'resource'>>): Quotas {
  const states = NETWORK_RESOURCES.map((resource) => {
    const row = rows.get(resource)
    return [resource, { limit: row?.limit ?? DEFAULT_LIMITS[resource], used: row?.used ?? 0 }]
  })
  return Object.fromEntries(states) as Quotas
}
