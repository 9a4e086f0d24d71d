import type { Clock } from '#common/clock.ts'
import { isFailure } from '#common/errors.ts'
import type { Logger } from '#common/log.ts'
import { RunningReconciler } from '#common/reconciler.ts'
import { KeyedLock } from '../keyed-lock.ts'
import { arrivedPorts } from './arrived-ports.ts'
import { difference } from './difference.ts'
import { OvnHosts } from './hosts.ts'
import { AddressPlaces, type MovedAddresses } from './moved-addresses.ts'
import type { CellNetworks, OvnHost } from './northbound/network-index.ts'
import { NORTHBOUND_TABLES } from './northbound/rows.ts'
import { wantedRows } from './northbound/wanted-rows.ts'
import type { TlsFiles } from './ovsdb/connection.ts'
import { type Operation, OvsdbDatabase } from './ovsdb/database.ts'
import { textOf } from './ovsdb/values.ts'
import { remoteDifference } from './remote-hosts.ts'

/** The place of a port in the data plane. */
export interface PortBinding {
  readonly portId: string
  /** True once the host has everything that the port needs, so that packets pass. */
  readonly isUp: boolean
  /** The host on which it is plugged in; null: none. */
  readonly chassis: string | null
}

export interface OvnEngineOptions {
  /**
   * Addresses as the tools of OVN write them: `unix:PATH`, `tcp:HOST:PORT` or `ssl:HOST:PORT`; with commas between those
   * of the members of a cluster.
   */
  readonly northbound: string
  readonly southbound: string
  readonly tls?: TlsFiles
  readonly clock: Clock
  readonly log: Logger
  /** Called for each port of the state whose binding differs from the last reported one, and the first time. */
  readonly onPort: (binding: PortBinding) => void
  /** Called when floating IPs have come to another host and their ports work there. */
  readonly onMovedAddresses?: (moved: MovedAddresses) => void
  /** True for a host that is known to be down, though it may answer OVN: it is no gateway then. Absent: none is. */
  readonly isDown?: (chassis: string) => boolean
  /** How often hosts are asked for a sign of life, while a router has a gateway or a network has machines. */
  readonly askHostsMs?: number
  /** How long a host may give none before it counts as dead. */
  readonly deadAfterMs?: number
}

const REPAIR_MS = 30_000
const ASK_HOSTS_MS = 500
const SILENT_MS = 1_500
/** How long to wait for the replica to show a change; a slower one is read again in the next round. */
const SEEN_MS = 5_000
const CONFLICTS_MAX = 5
const SOUTHBOUND_TABLES = {
  Chassis: ['name', 'hostname', 'encaps', 'other_config', 'external_ids'],
  Chassis_Private: ['name', 'nb_cfg'],
  Encap: ['ip', 'type'],
  Port_Binding: ['logical_port', 'type', 'up', 'chassis', 'options'],
}

/**
 * The networks of one cell in OVN. It is the only writer of the cell's northbound database: its own rows that differ
 * from the state, no matter who changed them, are written again, and all others are left unchanged.
 */
export class OvnEngine implements AsyncDisposable {
  readonly #northbound: OvsdbDatabase
  readonly #southbound: OvsdbDatabase
  readonly #options: OvnEngineOptions
  readonly #hosts: OvnHosts
  readonly #lock = new KeyedLock<'write'>()
  readonly #reconcilers: readonly RunningReconciler[]
  readonly #reportedPorts = new Map<string, PortBinding>()
  #state: CellNetworks | undefined
  #gatewayHosts = ''
  readonly #addressPlaces = new AddressPlaces()
  /** Of the last round. */
  #arrived: ReadonlySet<string> = new Set()

  private constructor(
    options: OvnEngineOptions,
    northbound: OvsdbDatabase,
    southbound: OvsdbDatabase,
  ) {
    this.#options = options
    this.#northbound = northbound
    this.#southbound = southbound
    const { clock, log, deadAfterMs = SILENT_MS, askHostsMs = ASK_HOSTS_MS } = options
    this.#hosts = new OvnHosts({ northbound, southbound }, clock, deadAfterMs)
    const repair = new RunningReconciler(
      { name: 'ovn', everyMs: REPAIR_MS, round: (signal) => this.#round(signal) },
      clock,
      log,
    )
    const nextRoundMs = () => Math.min(askHostsMs, this.#hosts.nextDeathMs() ?? askHostsMs)
    const hosts = new RunningReconciler(
      {
        name: 'ovn-hosts',
        // A gateway is replaced when its host counts as dead, not at the next question.
        get everyMs() {
          return nextRoundMs()
        },
        round: (signal) => this.#askHosts(repair, signal),
      },
      clock,
      log,
    )
    this.#reconcilers = [repair, hosts]
    northbound.onChange((tables) => {
      if (tables.some((table) => table in NORTHBOUND_TABLES)) repair.wake()
    })
    southbound.onChange((tables) => {
      if (tables.includes('Chassis_Private')) this.#hosts.recordContacts()
      const isBinding = tables.includes('Port_Binding') || tables.includes('Chassis')
      if (isBinding) this.#reportPorts()
      const hasRemote = (this.#state?.remoteHosts.length ?? 0) > 0
      const isRemote = hasRemote && (isBinding || tables.includes('Encap'))
      if (tables.includes('Chassis') || isRemote || this.#hasArrival()) repair.wake()
    })
  }

  /**
   * Afterwards it follows both databases, and writes nothing before the first `apply`. Throws `unavailable` when one is
   * not reachable.
   */
  static async open(options: OvnEngineOptions): Promise<OvnEngine> {
    const { northbound, southbound, clock, log, tls } = options
    const shared = { clock, log, ...(tls && { tls }) }
    const nb = await OvsdbDatabase.open({
      ...shared,
      address: northbound,
      name: 'OVN_Northbound',
      tables: { ...NORTHBOUND_TABLES, NB_Global: ['nb_cfg'] },
    })
    try {
      const tables = SOUTHBOUND_TABLES
      const sb = { ...shared, address: southbound, name: 'OVN_Southbound', tables }
      return new OvnEngine(options, nb, await OvsdbDatabase.open(sb))
    } catch (error) {
      await nb[Symbol.asyncDispose]()
      throw error
    }
  }

  /**
   * Afterwards this is the state, and the northbound database holds it. Throws `unavailable` while that is not
   * reachable: the state is written when it is back.
   */
  async apply(state: CellNetworks, signal: AbortSignal): Promise<void> {
    this.#state = state
    this.#forgetPorts(state)
    this.#reportPorts()
    await this.#round(signal)
    this.#reportPorts()
  }

  /** The hosts of the cell, as they describe themselves. */
  hosts(): readonly OvnHost[] {
    const { isDown = () => false } = this.#options
    return this.#hosts
      .list()
      .map((host) => (isDown(host.chassis) ? { ...host, isAlive: false } : host))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const reconciler of this.#reconcilers) await reconciler[Symbol.asyncDispose]()
    await this.#northbound[Symbol.asyncDispose]()
    await this.#southbound[Symbol.asyncDispose]()
  }

  /** Writes one difference after another, until there is none. */
  async #round(signal: AbortSignal): Promise<{ operations: number }> {
    return this.#lock.run('write', signal, async () => {
      let operations = 0
      for (let conflicts = 0; ; ) {
        const state = this.#state
        if (state === undefined) return { operations }
        const hosts = this.hosts()
        this.#gatewayHosts = JSON.stringify(hosts)
        this.#arrived = this.#arrivedPorts()
        const wanted = wantedRows({ ...state, arrived: this.#arrived }, hosts)
        const change = difference(this.#northbound, wanted)
        try {
          operations += await write(this.#northbound, change, signal)
          operations += await write(
            this.#southbound,
            remoteDifference(this.#southbound, state),
            signal,
          )
          this.#addressPlaces.put(wanted, state, this.#hostOf)
          this.#reportMoves()
          if (this.#state === state) return { operations }
        } catch (error) {
          // Another writer changed a row, which the replica does not show yet.
          conflicts += 1
          if (!isFailure(error, 'conflict') || conflicts === CONFLICTS_MAX) throw error
        }
      }
    })
  }

  /** Only while hosts stand in for each other, as gateways or for machines: an answer costs each host some work. */
  async #askHosts(
    repair: RunningReconciler,
    signal: AbortSignal,
  ): Promise<{ hosts: number; silent: number }> {
    const hosts = this.hosts()
    const { routers = [], ports = [] } = this.#state ?? {}
    const isNeeded =
      routers.some(({ gateway }) => gateway !== null) || ports.some(({ isMachine }) => isMachine)
    if (isNeeded && hosts.length > 1) {
      if (JSON.stringify(hosts) !== this.#gatewayHosts) repair.wake()
      if (this.#hosts.isDue())
        await this.#hosts.ask((question) => this.#northbound.transact(question, signal))
    }
    return { hosts: hosts.length, silent: hosts.filter(({ isAlive }) => !isAlive).length }
  }

  #arrivedPorts(): ReadonlySet<string> {
    const destinations = this.#state?.destinations ?? new Map<string, string>()
    return arrivedPorts(destinations, this.#southbound.table('Port_Binding'))
  }

  /** True if the guest of a port has come to the host that it moves to since the last round, or is not there any more. */
  #hasArrival(): boolean {
    const arrived = this.#arrivedPorts()
    return arrived.size !== this.#arrived.size || [...arrived].some((id) => !this.#arrived.has(id))
  }

  #reportPorts(): void {
    const ports = this.#state?.ports ?? []
    if (ports.length === 0) return
    const wanted = new Set(ports.map(({ id }) => id))
    const chassis = this.#southbound.table('Chassis')
    for (const row of this.#southbound.table('Port_Binding').values()) {
      const portId = textOf(row, 'logical_port')
      // A port of a machine is bound to the host that answers for it.
      const isGuest = row['type'] === '' || row['type'] === 'external'
      if (!wanted.has(portId) || !isGuest) continue
      const host = textOf(chassis.get(textOf(row, 'chassis')), 'name') || null
      const binding = { portId, isUp: row['up'] === true && host !== null, chassis: host }
      const reported = this.#reportedPorts.get(portId)
      if (reported?.isUp === binding.isUp && reported.chassis === binding.chassis) continue
      this.#reportedPorts.set(portId, binding)
      this.#options.onPort(binding)
    }
    this.#reportMoves()
  }

  /** Of a port that works. */
  readonly #hostOf = (portId: string): string | undefined => {
    const { isUp, chassis } = this.#reportedPorts.get(portId) ?? { isUp: false, chassis: null }
    return isUp && chassis !== null ? chassis : undefined
  }

  #reportMoves(): void {
    for (const moved of this.#addressPlaces.moved(this.#hostOf))
      this.#options.onMovedAddresses?.(moved)
  }

  #forgetPorts({ ports }: CellNetworks): void {
    const wanted = new Set(ports.map(({ id }) => id))
    for (const id of this.#reportedPorts.keys()) if (!wanted.has(id)) this.#reportedPorts.delete(id)
  }
}

/**
 * Afterwards the replica shows the inserted rows, unless they were removed at once: an earlier difference would insert
 * them again.
 */
async function write(
  database: OvsdbDatabase,
  operations: readonly Operation[],
  signal: AbortSignal,
): Promise<number> {
  if (operations.length === 0) return 0
  const results = await database.transact(operations, signal)
  const inserted = operations.flatMap(({ op, table }, index) =>
    op === 'insert' ? [{ table: String(table), uuid: results[index]?.uuid?.[1] ?? '' }] : [],
  )
  const isSeen = () => inserted.every(({ table, uuid }) => database.table(table).has(uuid))
  const seen = AbortSignal.any([signal, AbortSignal.timeout(SEEN_MS)])
  await database.until(isSeen, seen).catch(() => signal.throwIfAborted())
  return operations.length
}
