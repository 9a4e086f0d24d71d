import type { Clock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import type { Logger } from '#common/log.ts'
import type { Reconciler, ReconcilerReport } from '#common/reconciler.ts'
import { HeldLease } from '#common/saga/lease.ts'
import { OvnEngine, type OvnEngineOptions, type PortBinding } from '#drivers/ovn/engine.ts'
import { queueFeedRow } from '../db/feed.ts'
import { networkVersion, readNetworkState } from '../db/network-objects.ts'
import { queuePortBindings } from '../db/port-bindings.ts'

/** Where the databases of the cell's OVN are, as its tools write addresses. */
export type OvnSettings = Pick<OvnEngineOptions, 'northbound' | 'southbound' | 'tls'>

interface Parts {
  readonly db: Database
  readonly clock: Clock
  readonly log: Logger
  /** Of this process, by which the cell's processes tell who writes. */
  readonly holder: string
  /** Has the next round begin soon. */
  readonly nudge: () => void
  /** Called when there are changes for the gateways. */
  readonly feedChanged: () => void
}

/** A change is noticed at once where this process took it, and else so late. */
const EVERY_MS = 1_000
const LEASE_NAME = 'network'
const LEASE_TTL_MS = 5_000

/**
 * Writes into OVN what the gateways said that the cell's networks are to be. One process of the cell does, under a
 * lease; OVN keeps what was written while none does.
 */
export class NetworkWriter implements AsyncDisposable {
  readonly #settings: OvnSettings
  readonly #parts: Parts
  readonly #lease: HeldLease
  #engine: OvnEngine | undefined
  /** Bindings that the gateways do not know yet, by port. */
  readonly #bindings = new Map<string, PortBinding>()
  /** Of the state that the engine was given last. */
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
    const { db, clock, log, nudge } = this.#parts
    if ((await this.#lease.hold()) === undefined) {
      await this.#close()
      return { holder: 0 }
    }
    this.#engine ??= await OvnEngine.open({
      ...this.#settings,
      clock,
      log,
      onPort: (binding) => {
        this.#bindings.set(binding.portId, binding)
        nudge()
      },
    })
    await this.#report()
    const version = await networkVersion(db)
    if (version === this.#version) return { holder: 1, version }
    const state = await readNetworkState(db)
    await this.#engine.apply(state, signal)
    // Of a change in between the next round sees a later version.
    this.#version = version
    return { holder: 1, version, ports: state.ports.length }
  }

  /** Afterwards the feed and the cell's boots have the bindings that changed. */
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

  async #close(): Promise<void> {
    const engine = this.#engine
    this.#engine = undefined
    this.#version = undefined
    await engine?.[Symbol.asyncDispose]()
  }
}
