import { isFailure } from '#common/errors.ts'
import { forEachRow, type Reconciler } from '#common/reconciler.ts'
import { HeldLease } from '#common/saga/lease.ts'
import type { Cell } from '../cell.ts'
import { changeHost } from '../hosts/change-host.ts'
import type { Host } from '../hosts/host.ts'

const EVERY_MS = 1_000
const LEASE_NAME = 'host-liveness'
const LEASE_TTL_MS = 5_000
/** The usage of a host is sent at most so often; claims change it many times a second. */
const USAGE_EVERY_MS = 5_000
/** Hosts sent per round; the others are sent in the next. */
const CHANGES_MAX = 100

/**
 * Keeps the gateways informed about hosts: whether they are up, and the used amounts. Every process reads usage for
 * its own scheduling; one of them sends it.
 */
export function hostLiveness(cell: Cell, holder: string): Reconciler {
  const { db, hosts, clock, log } = cell.conductor
  const writtenAt = new Map<string, number>()
  const lease = new HeldLease(db, clock, { name: LEASE_NAME, holder, ttlMs: LEASE_TTL_MS })
  return {
    name: 'host-liveness',
    everyMs: EVERY_MS,
    round: async (signal) => {
      await hosts.refresh()
      if ((await lease.hold()) === undefined) return {}
      const now = clock.elapsed()
      const isDue = (host: Host) =>
        now - (writtenAt.get(host.id) ?? Number.NEGATIVE_INFINITY) >= USAGE_EVERY_MS
      const changed = hosts
        .all()
        .filter(
          (host) =>
            hosts.isUp(host) !== host.isUp ||
            // It has answered again before it was written down as silent.
            (host.isLeftAlone && hosts.isUp(host)) ||
            (hosts.isUsageNews(host) && isDue(host)),
        )
        .slice(0, CHANGES_MAX)
      await forEachRow(changed, { log, signal, nameOf: ({ id }) => id }, async (host) => {
        writtenAt.set(host.id, now)
        await writeLiveness(cell, host)
      })
      return { hosts: hosts.all().length, changed: changed.length }
    },
  }
}

async function writeLiveness({ conductor }: Cell, host: Host): Promise<void> {
  const { hosts } = conductor
  try {
    await changeHost(conductor, host.id, (seen) => ({
      ...seen,
      isUp: hosts.isUp(seen),
      fenceProblem: hosts.isUp(seen) ? null : seen.fenceProblem,
      isLeftAlone: seen.isLeftAlone && !hosts.isUp(seen),
      down: hosts.downReason(seen),
      lastSeenAt: hosts.lastSeenAt(seen),
    }))
  } catch (error) {
    if (!isFailure(error, 'conflict', 'not-found')) throw error
  }
}
