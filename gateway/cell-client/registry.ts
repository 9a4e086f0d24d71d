import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node'
import { MessageLimiter } from '#common/bus/message-limiter.ts'
import type { Clock } from '#common/clock.ts'
import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { CellId } from '#common/ids.ts'
import { errorFields, type Logger } from '#common/log.ts'
import { RunningReconciler } from '#common/reconciler.ts'
import type { BuildAnswer } from '#openapi/wire/cell.ts'
import { checked } from '#openapi/wire/checked.ts'
import { CellHeartbeat } from '#openapi/wire/feed.ts'
import { eventSubject } from '#openapi/wire.ts'
import { type CellMapping, listCellMappings } from '../db/cell-mappings.ts'
import { failedTunnels } from '../db/cell-tunnels.ts'
import type { Cell, Resources } from './cell.ts'
import { LiveProcesses } from './live-processes.ts'
import { type Reservation, Reservations } from './reservations.ts'

export interface CellRegistryOptions {
  readonly db: Executor
  readonly nats: NatsConnection
  readonly clock: Clock
  readonly log: Logger
  /** A cell silent for longer is unreachable. */
  readonly deadlineMs?: number
}

export type HeartbeatListener = (cell: CellId, beat: CellHeartbeat) => void

interface LastHeartbeat {
  readonly beat: CellHeartbeat
  /** Milliseconds since the epoch. */
  readonly at: number
  /** By `Clock.elapsed`. */
  readonly elapsedAt: number
}

const DEADLINE_MS = 5_000
/** A summary names what few hosts differ in: a hundredth of this is usual. */
const HEARTBEAT_BYTES_MAX = 64 * 1024
/** Of one cell: each of its processes says one. */
const HEARTBEATS_PER_SECOND = 50
/** How much of its deadline a cell may be silent before it is doubted that this gateway can hear it. */
const DOUBTED_AFTER = 0.5
/** How late a cell registered or disabled elsewhere may be noticed here. */
const REFRESH_MS = 1_000
/** After which every gateway that reads the database at all knows what was written of a cell. */
export const KNOWN_EVERYWHERE_MS = 2 * REFRESH_MS
const NO_CELLS: ReadonlySet<string> = new Set()
const NOTHING: Resources = { vcpus: 0, memoryMb: 0, diskGb: 0 }

/** All cells, with their last summaries. Every gateway receives every heartbeat. */
export class CellRegistry implements AsyncDisposable {
  readonly #options: CellRegistryOptions
  readonly #heartbeats = new Map<CellId, LastHeartbeat>()
  readonly #reserved = new Map<CellId, Reservations>()
  /** Of servers that a cell has been asked to build, and has not answered. */
  readonly #unanswered = new Map<string, Reservation>()
  readonly #processes: LiveProcesses
  readonly #limiter: MessageLimiter
  readonly #listeners = new Set<HeartbeatListener>()
  readonly #deadlineMs: number
  readonly #openedAt: number
  #mappings: ReadonlyMap<string, CellMapping> = new Map()
  #failedTunnels: ReadonlyMap<string, ReadonlySet<string>> = new Map()
  #refresh: RunningReconciler | undefined
  #subscription: Subscription | undefined
  #subscribedAt = 0

  private constructor(options: CellRegistryOptions) {
    this.#options = options
    this.#deadlineMs = options.deadlineMs ?? DEADLINE_MS
    this.#openedAt = options.clock.elapsed()
    this.#processes = new LiveProcesses(options.clock)
    this.#limiter = new MessageLimiter(options.clock, options.log, HEARTBEATS_PER_SECOND)
  }

  static async open(options: CellRegistryOptions): Promise<CellRegistry> {
    const registry = new CellRegistry(options)
    await registry.refresh()
    registry.#listen()
    const round = async () => {
      const cells = await registry.refresh()
      registry.#resubscribeIfUnreachable()
      return { cells }
    }
    const reconciler = { name: 'cells', everyMs: REFRESH_MS, round }
    registry.#refresh = new RunningReconciler(reconciler, options.clock, options.log)
    return registry
  }

  /** Reads the mappings again; returns how many there are. */
  async refresh(): Promise<number> {
    const { db } = this.#options
    const [mappings, tunnels] = await Promise.all([listCellMappings(db), failedTunnels(db)])
    this.#failedTunnels = tunnels
    this.#mappings = new Map(mappings.map((mapping) => [mapping.id, mapping]))
    for (const id of this.#heartbeats.keys()) if (!this.#mappings.has(id)) this.#forget(id)
    return mappings.length
  }

  /** By name. */
  cells(): readonly Cell[] {
    return [...this.#mappings.values()].map((mapping) => this.#cell(mapping))
  }

  cell(id: string): Cell | undefined {
    const mapping = this.#mappings.get(id)
    return mapping === undefined ? undefined : this.#cell(mapping)
  }

  /** The process of the cell for the next request, in turn; undefined if none has reported lately. */
  processOf(id: CellId): string | undefined {
    return this.#processes.next(id)
  }

  /**
   * True where no heartbeat of the cell came for longer than its deadline; false for a cell that this gateway may
   * hear for the first time any moment.
   */
  isUnreachable(id: CellId): boolean {
    const since = this.#heartbeats.get(id)?.elapsedAt ?? this.#openedAt
    return this.#options.clock.elapsed() - since > this.#deadlineMs
  }

  /** The last heartbeat of the cell, and its age; undefined before the first to this gateway. */
  heardOf(id: CellId):
    | (Pick<CellHeartbeat, 'incarnation' | 'position' | 'at'> & {
        ageMs: number
        receivedAt: number
      })
    | undefined {
    const last = this.#heartbeats.get(id)
    if (last === undefined) return undefined
    const { incarnation, position, at } = last.beat
    const ageMs = this.#options.clock.elapsed() - last.elapsedAt
    return { incarnation, position, at, ageMs, receivedAt: last.at }
  }

  /** Deducts the resources of a server that is to be assigned to the cell from the free amounts of its summaries. */
  reserve(id: CellId, resources: Resources): Reservation {
    const reserved = this.#reserved.get(id) ?? new Reservations(this.#options.clock)
    this.#reserved.set(id, reserved)
    return reserved.add(resources)
  }

  /** These cells with what is reserved at this moment. */
  asReserved(cells: readonly Cell[]): readonly Cell[] {
    return cells.map((cell) => {
      const { resources = NOTHING, servers = 0 } = this.#reserved.get(cell.id) ?? {}
      return cell.reserved === resources
        ? cell
        : { ...cell, reserved: resources, reservedServers: servers }
    })
  }

  /** The cell is about to be asked to build this server, for which the room is reserved. */
  asked(serverId: string, reservation: Reservation): void {
    this.#unanswered.set(serverId, reservation)
  }

  /** What the cell answered about the server; absent: it is not waited for any more. */
  answered(serverId: string, answer?: BuildAnswer): void {
    const reservation = this.#unanswered.get(serverId)
    this.#unanswered.delete(serverId)
    if (answer === undefined) reservation?.answered()
    else if (answer.outcome === 'accepted') reservation?.answered(answer.claim)
    else reservation?.cancel()
  }

  /** Calls `listener` on every heartbeat; returns how to stop it. */
  onHeartbeat(listener: HeartbeatListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#refresh?.[Symbol.asyncDispose]()
    if (!this.#options.nats.isClosed()) this.#subscription?.unsubscribe()
  }

  #listen(): void {
    const { nats, log, clock } = this.#options
    const former = this.#subscription
    this.#subscribedAt = clock.elapsed()
    this.#subscription = nats.subscribe(eventSubject('*', 'heartbeat'), {
      callback: (error, message) => {
        if (error === null) this.#receive(message)
        else log.error({ error: error.message }, 'heartbeats cannot be received')
      },
    })
    former?.unsubscribe()
  }

  /**
   * A bus that is handed the gateways' account takes its imports away and puts them back; if they are the same as
   * before, what was subscribed in between stays deaf for ever (nats-server, updateAccountClaimsWithRefresh).
   */
  #resubscribeIfUnreachable(): void {
    const { nats, clock } = this.#options
    const since = clock.elapsed() - this.#deadlineMs * DOUBTED_AFTER
    if (nats.isClosed() || this.#subscribedAt > since) return
    const isUnreachable = ({ id }: CellMapping) =>
      (this.#heartbeats.get(id)?.elapsedAt ?? Number.NEGATIVE_INFINITY) < since
    if ([...this.#mappings.values()].some(isUnreachable)) this.#listen()
  }

  #receive(message: Msg): void {
    // The bus lets a cell publish below its own id only, so the subject says who speaks.
    const id = message.subject.split('.')[1]! as CellId
    if (!this.#limiter.admits(id)) return
    try {
      assertShort(message)
      const beat = checked(CellHeartbeat, message.json(), 'heartbeat')
      if (beat.processId !== undefined) this.#processes.recordHeartbeat(id, beat.processId)
      const { clock } = this.#options
      const at = clock.now()
      this.#reserved.get(id)?.summarized(beat)
      this.#heartbeats.set(id, { beat, at, elapsedAt: clock.elapsed() })
      if (!this.#mappings.has(id)) this.#refresh?.wake()
      for (const listener of this.#listeners) listener(id, beat)
    } catch (error) {
      this.#limiter.logDropped(id, { cell: id, ...errorFields(error) })
    }
  }

  #forget(id: CellId): void {
    this.#heartbeats.delete(id)
    this.#reserved.delete(id)
    this.#processes.forget(id)
  }

  #cell(mapping: CellMapping): Cell {
    const last = this.#heartbeats.get(mapping.id)
    const reserved = this.#reserved.get(mapping.id)
    const sendsHeartbeats =
      last !== undefined && this.#options.clock.elapsed() - last.elapsedAt <= this.#deadlineMs
    const isLost = mapping.loss !== null
    const lastHeartbeatAt = last?.at ?? mapping.lastHeartbeatAt?.getTime()
    return {
      id: mapping.id,
      name: mapping.name,
      isEnabled: !mapping.isDisabled,
      weight: mapping.weight,
      transportZone: mapping.transportZone,
      labels: mapping.labels,
      taints: mapping.taints,
      cannotTunnelTo: this.#failedTunnels.get(mapping.id) ?? NO_CELLS,
      isReachable: sendsHeartbeats && !isLost,
      isLost,
      lostAt: mapping.loss?.at.getTime(),
      sendsHeartbeats,
      needsResync: mapping.needsResync,
      lastHeartbeatAt,
      summary: last?.beat.summary ?? mapping.summary ?? undefined,
      incarnation: last?.beat.incarnation,
      reserved: reserved?.resources ?? NOTHING,
      reservedServers: reserved?.servers ?? 0,
    }
  }
}

function assertShort({ data }: Msg): void {
  if (data.length <= HEARTBEAT_BYTES_MAX) return
  throw new Failure(
    'invalid',
    `A heartbeat of ${data.length} bytes; ${HEARTBEAT_BYTES_MAX} are read.`,
  )
}
