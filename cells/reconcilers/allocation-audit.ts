import { forEachRow, type Reconciler, type ReconcilerReport } from '#common/reconciler.ts'
import { HeldLease } from '#common/saga/lease.ts'
import type { Cell } from '../cell.ts'
import { recountGroup, wrongGroups } from '../placement/audit-groups.ts'
import { auditProvider } from '../placement/audit-provider.ts'
import { orphanedConsumers } from '../placement/orphans.ts'
import { release } from '../placement/release.ts'

const EVERY_MS = 60_000
const LEASE_NAME = 'allocation-audit'
const LEASE_TTL_MS = 120_000
const BATCH = 100
/** A claim and its server commit together, so an older one without server never gets one. */
const ORPHANED_AFTER_MS = 60_000

/** Repairs allocations: none without a server, and every provider and server group counts its allocations. */
export function allocationAudit(cell: Cell, holder: string): Reconciler {
  const { db, clock } = cell.conductor
  const lease = new HeldLease(db, clock, { name: LEASE_NAME, holder, ttlMs: LEASE_TTL_MS })
  return {
    name: 'allocation-audit',
    everyMs: EVERY_MS,
    round: async (signal) => {
      if ((await lease.hold()) === undefined) return {}
      return auditAllocations(cell, signal)
    },
  }
}

/** One audit of everything; returns what it found wrong. */
export async function auditAllocations(
  { conductor }: Cell,
  signal?: AbortSignal,
): Promise<ReconcilerReport> {
  const { db, clock, hosts, log } = conductor
  const before = new Date(clock.now() - ORPHANED_AFTER_MS)
  const orphans = await orphanedConsumers(db, before, BATCH)
  const each = signal === undefined ? { log } : { log, signal }
  await forEachRow(orphans, each, (consumer) => db.transaction((tx) => release(tx, consumer)))
  let corrected = 0
  const providers = hosts.all().flatMap(({ id, provider }) => (provider === null ? [] : [id]))
  await forEachRow(providers, each, async (id) => {
    if (await auditProvider(db, id)) corrected += 1
  })
  const groups = await wrongGroups(db)
  await forEachRow(groups, each, (group) => recountGroup(db, group))
  const found = { orphans: orphans.length, corrected, groups: groups.length }
  if (found.orphans + corrected + found.groups > 0) log.warn(found, 'allocations repaired')
  return found
}
