import type { Reconciler, ReconcilerReport } from '#common/reconciler.ts'
import { HeldLease } from '#common/saga/lease.ts'
import type { Cell } from '../cell.ts'
import { auditGroups } from '../placement/audit-groups.ts'
import { auditProvider } from '../placement/audit-provider.ts'
import { orphanedConsumers } from '../placement/orphans.ts'
import { release } from '../placement/release.ts'

const EVERY_MS = 60_000
const LEASE_NAME = 'allocation-audit'
const LEASE_TTL_MS = 120_000
const BATCH = 100
/** A claim and its server commit together, so an older one without server never gets one. */
const ORPHANED_AFTER_MS = 60_000

/** Keeps allocations true: none without server, and every provider and server group counting what is there. */
export function allocationAudit(cell: Cell, holder: string): Reconciler {
  const { db, clock } = cell.conductor
  const lease = new HeldLease(db, clock, { name: LEASE_NAME, holder, ttlMs: LEASE_TTL_MS })
  return {
    name: 'allocation-audit',
    everyMs: EVERY_MS,
    round: async () => {
      if ((await lease.hold()) === undefined) return {}
      return auditAllocations(cell)
    },
  }
}

/** One audit of everything; returns what it repaired. */
export async function auditAllocations({ conductor }: Cell): Promise<ReconcilerReport> {
  const { db, clock, hosts, log } = conductor
  const before = new Date(clock.now() - ORPHANED_AFTER_MS)
  const orphans = await orphanedConsumers(db, before, BATCH)
  for (const consumer of orphans) await db.transaction((tx) => release(tx, consumer))
  let corrected = 0
  for (const { id, provider } of hosts.all())
    if (provider !== null && (await auditProvider(db, id))) corrected += 1
  const groups = await auditGroups(db)
  if (orphans.length + corrected + groups > 0)
    log.warn({ orphans: orphans.length, corrected, groups }, 'allocations repaired')
  return { orphans: orphans.length, corrected, groups }
}
