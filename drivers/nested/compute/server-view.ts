import { EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { abortable } from '../../abortable.ts'
import type { InstanceReport } from '../../driver.ts'
import { instanceOfMarker, isMarked } from '../names.ts'
import { type CloudServer, powerStateOf } from './cloud-server.ts'
import type { ServerList } from './list-servers.ts'

export interface ServerViewOptions {
  /** The metadata key of servers that are ours. */
  readonly marker: string
  readonly list: (since: number | undefined, signal: AbortSignal) => Promise<ServerList>
  /** Undefined for one that the cloud does not have. */
  readonly show: (serverId: string, signal: AbortSignal) => Promise<CloudServer | undefined>
  /** At least between the beginnings of two lists. */
  readonly everyMs: number
  /** Called after every list. */
  readonly onList?: (view: ServerView) => void
}

/** Clocks of the cloud's own programs differ, and its dates are cut to seconds. */
const OVERLAP_MS = 30_000
const WHOLE_EVERY_MS = 60_000
/** Servers that a list lacks again are looked at, so many at a time. */
const READS_MAX = 16

/**
 * Our servers of the nested cloud as it last showed them. However many ask, there is one list at a time and one per
 * interval; most ask only for what has changed.
 */
export class ServerView implements AsyncDisposable {
  /** True while every change is reported by an event of the cloud. */
  isFollowed = false
  readonly #options: ServerViewOptions
  readonly #servers = new Map<string, CloudServer>()
  /** Unmanaged servers. */
  readonly #unmanagedGuests = new Map<string, CloudServer>()
  /** Absent from the last whole list: looked at if absent from the next. */
  readonly #missing = new Set<string>()
  /** Removed in the cloud by somebody else. */
  readonly #lost = new Set<string>()
  /** When the last look at a single server began. */
  readonly #readAt = new Map<string, number>()
  readonly #reads = new EventEmitter().setMaxListeners(0)
  readonly #listeners = new Set<(report: InstanceReport) => void>()
  readonly #stop = new AbortController()
  #since: number | undefined
  #wholeAt = Number.NEGATIVE_INFINITY
  #begunAt = Number.NEGATIVE_INFINITY
  #running: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined

  constructor(options: ServerViewOptions) {
    this.#options = options
  }

  /** Afterwards the view holds what the cloud showed at some time after this call. */
  async refresh(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => this.#pause())
      .then(() => {
        this.#next = undefined
        this.#running = this.#list()
        return this.#running
      })
    await abortable(this.#next, signal)
  }

  /** The same; of a cloud that is followed, at some time not long before. */
  async catchUp(signal: AbortSignal): Promise<void> {
    if (!this.isFollowed) await this.refresh(signal)
  }

  /** Afterwards the view holds the server as the cloud showed it after this call, or knows that it is gone. */
  async read(serverId: string, signal: AbortSignal): Promise<void> {
    const begunAt = performance.now()
    const server = await this.#options.show(serverId, signal)
    if (!this.#servers.has(serverId)) return
    this.#readAt.set(serverId, begunAt)
    if (server === undefined) this.lose(serverId)
    else this.#take(server)
    this.#reads.emit(serverId)
  }

  /** The same of one that no list has shown since this view began: only the cloud itself can say that it is gone. */
  async seek(serverId: string, signal: AbortSignal): Promise<void> {
    if (this.#servers.has(serverId) || this.#lost.has(serverId)) return
    const server = await this.#options.show(serverId, signal)
    if (server === undefined) this.lose(serverId)
    else if (!this.#servers.has(serverId)) this.#take(server)
  }

  get(serverId: string): CloudServer | undefined {
    return this.#servers.get(serverId)
  }

  all(): readonly CloudServer[] {
    return [...this.#servers.values()]
  }

  /** True of a server of ours that the cloud has removed without being asked to by us. */
  isLost(serverId: string): boolean {
    return this.#lost.has(serverId)
  }

  /** Servers that carry no mark at all. */
  unmanagedGuests(): readonly CloudServer[] {
    return [...this.#unmanagedGuests.values()]
  }

  /** The instance that a server is; undefined for one whose mark cannot be read. */
  instanceOf(server: CloudServer): InstanceId | undefined {
    return instanceOfMarker(server.metadata[this.#options.marker])
  }

  /** The servers made for an instance, the oldest first: more than one only after an answer was lost. */
  of(id: InstanceId): readonly CloudServer[] {
    return this.all()
      .filter((server) => this.instanceOf(server) === id)
      .toSorted((a, b) => a.created.localeCompare(b.created) || a.id.localeCompare(b.id))
  }

  /** Resolves with the server once it is as wanted; undefined once it is gone. */
  async until(
    serverId: string,
    isWanted: (server: CloudServer) => boolean,
    signal: AbortSignal,
  ): Promise<CloudServer | undefined> {
    for (;;) {
      await this.#refreshOrRead(serverId, signal)
      const server = this.get(serverId)
      if (server === undefined || isWanted(server)) return server
    }
  }

  /** The server is known to be gone, as it was to be. */
  forget(serverId: string): void {
    this.#lost.delete(serverId)
    this.#servers.delete(serverId)
    this.#missing.delete(serverId)
    this.#readAt.delete(serverId)
  }

  /** The cloud has removed it, and was not asked to. */
  lose(serverId: string): void {
    const server = this.#servers.get(serverId)
    this.forget(serverId)
    this.#lost.add(serverId)
    const id = server === undefined ? undefined : this.instanceOf(server)
    if (id === undefined) return
    for (const listener of this.#listeners) listener({ id, powerState: 'nostate', fault: LOST })
  }

  /**
   * Calls `listener` on every change of power state that is seen, with `nostate` for a server that the cloud has
   * lost, until disposed.
   */
  listen(listener: (report: InstanceReport) => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Failure('unavailable', 'The host stops.'))
    await Promise.allSettled([this.#running, this.#next])
  }

  async #pause(): Promise<void> {
    const waitMs = this.#begunAt + this.#options.everyMs - performance.now()
    const { signal } = this.#stop
    if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => undefined)
    signal.throwIfAborted()
  }

  async #list(): Promise<void> {
    this.#begunAt = performance.now()
    const isWhole = this.#since === undefined || this.#begunAt >= this.#wholeAt + WHOLE_EVERY_MS
    const since = isWhole ? undefined : this.#since
    const { servers, at } = await this.#options.list(since, this.#stop.signal)
    const seen = servers.filter((server) => this.#isOurs(server))
    for (const server of seen) if (!this.#isOutdated(server.id)) this.#take(server)
    if (isWhole) this.#unmanagedGuests.clear()
    for (const server of servers) this.#logUnknownServer(server)
    if (isWhole) await this.#strike(new Set(seen.map(({ id }) => id)))
    // A cloud that reports no times is listed in full each time.
    this.#since = at === undefined ? since : Math.max(at - OVERLAP_MS, since ?? 0)
    if (isWhole) this.#wholeAt = this.#begunAt
    this.#options.onList?.(this)
  }

  /** Nova lists a server that is gone without its metadata, so that one is known by its id. */
  #isOurs({ id, status, metadata }: CloudServer): boolean {
    return this.#options.marker in metadata || (status === 'DELETED' && this.#servers.has(id))
  }

  /** When the caller that waits for this server gives up, the list continues for the others. */
  async #refreshOrRead(serverId: string, signal: AbortSignal): Promise<void> {
    const waiting = new AbortController()
    const read = once(this.#reads, serverId, { signal: waiting.signal })
    read.catch(() => undefined)
    try {
      await Promise.race([this.refresh(signal), read])
    } finally {
      waiting.abort()
    }
  }

  /** True of a server that was looked at after the present list began. */
  #isOutdated(serverId: string): boolean {
    return (this.#readAt.get(serverId) ?? Number.NEGATIVE_INFINITY) > this.#begunAt
  }

  #take(server: CloudServer): void {
    if (server.status === 'DELETED') return this.lose(server.id)
    const before = this.#servers.get(server.id)
    this.#missing.delete(server.id)
    this.#servers.set(server.id, server)
    const id = this.instanceOf(server)
    const powerState = powerStateOf(server)
    const isNews =
      before === undefined
        ? this.#since !== undefined
        : powerStateOf(before) !== powerState || isInError(before) !== isInError(server)
    if (id === undefined || !isNews) return
    const report = reportOf(id, server)
    if (powerState === 'nostate' && report.fault === undefined) return
    for (const listener of this.#listeners) listener(report)
  }

  #logUnknownServer(server: CloudServer): void {
    if (server.status === 'DELETED' || isMarked(server.metadata))
      this.#unmanagedGuests.delete(server.id)
    else this.#unmanagedGuests.set(server.id, server)
  }

  /** A cloud leaves servers of its own unreachable parts out of its lists, and then cannot show them either. */
  async #strike(seen: ReadonlySet<string>): Promise<void> {
    const absent = [...this.#servers.keys()].filter((id) => !seen.has(id))
    const again = absent.filter((id) => this.#missing.has(id)).slice(0, READS_MAX)
    for (const id of absent) this.#missing.add(id)
    await Promise.allSettled(again.map((id) => this.read(id, this.#stop.signal)))
  }
}

/** Why a server that the cloud has removed counts as failed. */
export const LOST = 'The nested cloud has no such server any more.'

/** The server as a driver reports it. */
export function reportOf(id: InstanceId, server: CloudServer): InstanceReport {
  const powerState = powerStateOf(server)
  if (!isInError(server)) return { id, powerState }
  const why = server.fault?.message ?? 'no fault is shown'
  return { id, powerState, fault: `The nested cloud shows the server in error: ${why}` }
}

function isInError({ status }: CloudServer): boolean {
  return status === 'ERROR'
}
