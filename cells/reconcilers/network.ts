import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import type { HostId } from '#common/ids.ts'
import type { Logger } from '#common/log.ts'
import type { Reconciler, ReconcilerReport } from '#common/reconciler.ts'
import { HeldLease } from '#common/saga/lease.ts'
import { OvnEngine, type OvnEngineOptions, type PortBinding } from '#drivers/ovn/engine.ts'
import type { CellNetworks } from '#drivers/ovn/northbound/network-index.ts'
import type { Conductor } from '../conductor/conductor.ts'
import { queueFeedRow } from '../db/feed.ts'
import { hostNetworks } from '../db/hosts.ts'
import { networkVersion } from '../db/network-objects.ts'
import { queuePortBindings } from '../db/port-bindings.ts'
import { changeHost } from '../hosts/change-host.ts'
import { readCellNetworks } from './cell-networks.ts'

/** The addresses of the cell's OVN databases, as its tools write them. */
export type OvnSettings = Pick<OvnEngineOptions, 'northbound' | 'southbound' | 'tls'>

interface Parts extends Pick<Conductor, 'ratios' | 'feedChanged' | 'hosts'> {
  readonly db: Database
  readonly clock: Clock
  readonly log: Logger
  /** The name of this process as a holder of the lease. */
  readonly holder: string
  /** Has a host tell the networks of the site that these addresses are there now. */
  readonly announce: NonNullable<OvnEngineOptions['onMovedAddresses']>
  /** Makes the next round begin soon. */
  readonly wake: () => void
}

/** How late a change is noticed that another process of the cell took; this process notices its own at once. */
const EVERY_MS = 1_000
const LEASE_NAME = 'network'
const LEASE_TTL_MS = 5_000

/**
 * Writes the networks that the gateways want into the cell's OVN. One process of the cell does this, under a lease; OVN
 * keeps its rows while none does.
 */
export class NetworkWriter implements AsyncDisposable {
  readonly #settings: OvnSettings
  readonly #parts: Parts
  readonly #lease: HeldLease
  #engine: OvnEngine | undefined
  /** Bindings that the gateways do not know yet, by port. */
  readonly #bindings = new Map<string, PortBinding>()
  /** The hosts of the cell as the gateways know them. */
  #hosts = ''
  /** The version of the state that the engine was last given. */
  #version: number | undefined

  constructor(settings: OvnSettings, parts: Parts) {
    this.#settings = settings
    this.#parts = parts
    const { db, clock, holder } = parts
    this.#lease = new HeldLease(db, clock, { name: LEASE_NAME, holder, ttlMs: LEASE_TTL_MS })
  }

  reconciler(): Reconciler {
    return { name: 'network', everyMs: EVERY_MS, round: (signal) => this.#round(signal) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
    await this.#lease.letGo().catch(() => undefined)
  }

  async #round(signal: AbortSignal): Promise<ReconcilerReport> {
    const { db, clock, log, wake, announce } = this.#parts
    if ((await this.#lease.hold()) === undefined) {
      await this.#close()
      return { holder: 0 }
    }
    this.#engine ??= await OvnEngine.open({
      ...this.#settings,
      clock,
      log,
      isDown: (chassis) => this.#parts.hosts.isForcedDown(chassis as HostId),
      onPort: (binding) => {
        this.#bindings.set(binding.portId, binding)
        wake()
      },
      onMovedAddresses: announce,
    })
    await this.#report()
    await this.#reportHosts(this.#engine)
    const version = await networkVersion(db)
    if (version === this.#version) return { holder: 1, version }
    const state = await readCellNetworks(db, this.#parts.hosts)
    await this.#engine.apply(this.#ofEngine(state), signal)
    // A change in the meantime raises the version, which the next round sees.
    this.#version = version
    return { holder: 1, version, ports: state.ports.length }
  }

  /** The state without floating IPs of hosts that have routers of their own: OVN must not answer for these addresses, too. */
  #ofEngine(state: CellNetworks): CellNetworks {
    const { hosts } = this.#parts
    const elsewhere = new Set(
      state.ports.filter(({ hostId }) => hosts.hasRouting(hostId as HostId)).map(({ id }) => id),
    )
    return {
      ...state,
      floatingIps: state.floatingIps.filter(({ portId }) => !elsewhere.has(portId)),
    }
  }

  /** Afterwards the feed and the cell's boots have the changed bindings. */
  async #report(): Promise<void> {
    const changed = [...this.#bindings.values()]
    if (changed.length === 0) return
    const { db, feedChanged } = this.#parts
    await db.transaction((tx) => {
      const bodies = changed.map(({ portId, isUp }) => ({ kind: 'port' as const, portId, isUp }))
      queueFeedRow(tx, bodies)
      queuePortBindings(tx, changed)
      tx.afterCommit(feedChanged)
    })
    for (const binding of changed)
      if (this.#bindings.get(binding.portId) === binding) this.#bindings.delete(binding.portId)
  }

  /** Afterwards the gateways know where the tunnels of each host end, and which networks of the site it reaches. */
  async #reportHosts(engine: OvnEngine): Promise<void> {
    const hosts = engine.hosts().map(({ chassis, encapAddress, physicalNetworks }) => {
      return {
        id: chassis as HostId,
        network: { encapAddress, physicalNetworks: [...physicalNetworks] },
      }
    })
    const seen = JSON.stringify(hosts)
    if (seen === this.#hosts) return
    const joined = new Map(hosts.map(({ id, network }) => [id, network]))
    const known = await hostNetworks(this.#parts.db)
    for (const [id, before] of known) {
      const network = joined.get(id) ?? null
      if (!isDeepStrictEqual(network, before))
        await changeHost(this.#parts, id, (host) => ({ ...host, network }))
    }
    // A host of which the cell does not know yet is looked for again.
    if (hosts.every(({ id }) => known.has(id))) this.#hosts = seen
  }

  async #close(): Promise<void> {
    const engine = this.#engine
    this.#engine = undefined
    this.#version = undefined
    this.#hosts = ''
    await engine?.[Symbol.asyncDispose]()
  }
}
