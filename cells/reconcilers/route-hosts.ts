import { createHash } from 'node:crypto'
import { workContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import type { Reconciler } from '#common/reconciler.ts'
import { HeldLease } from '#common/saga/lease.ts'
import type { FeedBody } from '#openapi/wire/feed.ts'
import type { NetworkState } from '#openapi/wire/network.ts'
import type { HostRouting, RoutingProblem } from '#openapi/wire/routing.ts'
import type { Cell } from '../cell.ts'
import { askHost } from '../conductor/ask-host.ts'
import { queueFeedRow } from '../db/feed.ts'
import { networkVersion, readNetworkState } from '../db/network-objects.ts'
import type { Host } from '../hosts/host.ts'
import { hostRouting } from '../hosts/host-routing.ts'

const EVERY_MS = 1_000
const LEASE_NAME = 'routing'
const LEASE_TTL_MS = 5_000
/** The interval after which a host compares again without a change here: someone may have changed its cloud. */
const AGAIN_MS = 60_000
/** After a problem sooner, and each time later. */
const RETRY_MS = 1_000

/** What a host was asked for last, by the digest, and when it is to be asked again. */
interface Asked {
  readonly digest: string
  readonly at: number
  readonly waitMs: number
}

/**
 * Has every host whose backend has routers of its own route its servers as the gateways want, after any change and each time
 * that it is back. One process of the cell does this. The gateways receive what became of floating IPs.
 */
export function routeHosts(cell: Cell, holder: string): Reconciler {
  const { db, hosts, clock } = cell.conductor
  const lease = new HeldLease(db, clock, { name: LEASE_NAME, holder, ttlMs: LEASE_TTL_MS })
  const asked = new Map<string, Asked>()
  let seen: { readonly version: number; readonly state?: NetworkState } = { version: 0 }
  return {
    name: 'route hosts',
    everyMs: EVERY_MS,
    round: async () => {
      const able = hosts.all().filter((host) => hosts.hasRouting(host.id) && hosts.isUp(host))
      const keys = new Set(able.map(keyOf))
      for (const key of asked.keys()) if (!keys.has(key)) asked.delete(key)
      if (able.length === 0) return { hosts: 0 }
      if ((await lease.hold()) === undefined) {
        asked.clear()
        seen = { version: 0 }
        return { holder: 0 }
      }
      seen = await stateAfter(cell, seen)
      const { state } = seen
      if (state === undefined) return { holder: 1, hosts: able.length }
      const due = able.flatMap((host) => {
        const wanted = hostRouting(state, host.id)
        const digest = digestOf(wanted)
        const last = asked.get(keyOf(host))
        const isSame = last?.digest === digest
        if (isSame && clock.elapsed() - last.at < last.waitMs) return []
        return [{ host, wanted, digest, waitMs: isSame ? last.waitMs : RETRY_MS }]
      })
      await Promise.all(
        due.map(async ({ host, wanted, digest, waitMs }) => {
          const isDone = await route(cell, state, host, wanted)
          const later = Math.min(2 * waitMs, AGAIN_MS)
          asked.set(keyOf(host), {
            ...{ digest, at: clock.elapsed() },
            waitMs: isDone ? AGAIN_MS : later,
          })
        }),
      )
      return { holder: 1, hosts: able.length, asked: due.length }
    },
  }
}

/** A host that was started again is asked again. */
function keyOf({ id, startedAt }: Host): string {
  return `${id} ${startedAt}`
}

function digestOf(wanted: HostRouting): string {
  return createHash('sha256').update(JSON.stringify(wanted)).digest('base64')
}

/**
 * The state as it is now. None before the gateways have sent any, nor while they send the first: in parts, of which none may be
 * taken for the whole.
 */
async function stateAfter(
  { conductor: { db } }: Cell,
  before: { readonly version: number; readonly state?: NetworkState },
): Promise<{ readonly version: number; readonly state?: NetworkState }> {
  const version = await networkVersion(db)
  if (version === 0) return { version }
  const isChanged = version !== before.version
  if (before.state === undefined && isChanged) return { version }
  if (before.state !== undefined && !isChanged) return before
  return { version, state: await readNetworkState(db) }
}

/** True when the host has everything as it is to be; otherwise it is to be asked again soon. */
async function route(
  cell: Cell,
  state: NetworkState,
  host: Host,
  wanted: HostRouting,
): Promise<boolean> {
  const { conductor } = cell
  try {
    const work = workContext({})
    const { problems } = await askHost(conductor, host.id, 'route', wanted, work)
    for (const problem of problems)
      conductor.log.info({ host: host.name, ...problem }, 'a host does not route as it is to')
    await reportFloatingIps(cell, state, wanted, problems)
    return problems.length === 0
  } catch (error) {
    if (!isFailure(error)) throw error
    conductor.log.warn({ host: host.name, ...errorFields(error) }, 'a host is not routed')
    return false
  }
}

/** Reports the status of each floating IP of the host to the gateways. */
async function reportFloatingIps(
  { conductor }: Cell,
  state: NetworkState,
  { floatingIps }: HostRouting,
  problems: readonly RoutingProblem[],
): Promise<void> {
  if (floatingIps.length === 0) return
  const problemOf = new Map(problems.map((problem) => [problem.id, problem]))
  const routerOf = new Map(state.floatingIps.map(({ id, routerId }) => [id, routerId]))
  const bodies = floatingIps.map(({ id, portId, fixedAddress }): FeedBody => {
    const own = problemOf.get(id)
    // A missing router is the reason for every floating IP behind it.
    const cause = own && (problemOf.get(routerOf.get(id) ?? '') ?? own)
    return {
      ...{ kind: 'floating-ip', id, portId, fixedAddress },
      status: own?.status ?? 'ACTIVE',
      problem: cause?.reason ?? null,
    }
  })
  await conductor.db.transaction(async (tx) => {
    queueFeedRow(tx, bodies)
    tx.afterCommit(conductor.feedChanged)
  })
}
