import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { findServer } from '../../db/find-server.ts'
import type { CellLimits } from '../../db/placement-policies.ts'
import { type CellUse, projectUse } from '../../db/project-use.ts'
import { queueProjectLock } from '../../db/quota-usages.ts'
import { findRequestSpec } from '../../db/request-specs.ts'
import { appliedPolicy } from './applied-policy.ts'
import type { KnownPolicies } from './known-policies.ts'

export const NO_USE: CellUse = { servers: 0, vcpus: 0, memoryMb: 0 }

const UNITS = { servers: 'servers', vcpus: 'VCPU', memoryMb: 'MiB of memory' } as const

export function addedUse(use: CellUse, more: CellUse): CellUse {
  return {
    servers: use.servers + more.servers,
    vcpus: use.vcpus + more.vcpus,
    memoryMb: use.memoryMb + more.memoryMb,
  }
}

/** The first limit of a project in a cell that this use exceeds, as text; undefined: none. */
export function exceededLimit(limits: CellLimits, use: CellUse): string | undefined {
  for (const name of ['servers', 'vcpus', 'memoryMb'] as const) {
    const limit = limits[name]
    if (limit !== null && use[name] > limit) return `${limit} ${UNITS[name]}`
  }
  return undefined
}

/** A server in a cell that is to take more than now, and the flavor that it is to have. */
export interface Growth {
  readonly serverId: string
  readonly cellId: string
  readonly projectId: string
  /** Null: the one it has. */
  readonly flavorId: string | null
}

/**
 * Does `charge`, after which the project has no more in the server's cell than the server's policy allows; nobody else places servers of the
 * project until the transaction ends. Throws `over-quota`, and what `charge` throws.
 */
export async function chargeWithinLimits(
  tx: Tx,
  policies: KnownPolicies,
  { serverId, cellId, projectId, flavorId }: Growth,
  charge: () => Promise<void>,
): Promise<void> {
  const all = policies.all()
  if (!all.some(({ rules }) => rules.limits !== null)) return charge()
  const hint = (await findRequestSpec(tx, serverId))?.spec.policyHint
  const flavor = flavorId ?? (await findServer(tx, serverId))?.flavor.id ?? ''
  const policy = appliedPolicy(all, { projectId, flavorId: flavor, hint })
  if (policy === null || policy.rules.limits === null) return charge()
  queueProjectLock(tx, projectId)
  await charge()
  const use = (await projectUse(tx, projectId)).get(cellId) ?? NO_USE
  const exceeded = exceededLimit(policy.rules.limits, use)
  if (exceeded === undefined) return
  throw new Failure(
    'over-quota',
    `Quota exceeded: in the part of the cloud where this server is, the project may have ${exceeded}.`,
  )
}
