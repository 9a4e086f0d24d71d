import type { Clock } from '#common/clock.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { errorFields, type Logger } from '#common/log.ts'
import { OvsdbConnection, type TlsFiles } from './connection.ts'
import { hasLostLead, requireLeader } from './leader.ts'
import { changed, decode, type Row, readSchema, type Schema, type Value } from './values.ts'

export interface OvsdbOptions {
  /**
   * Addresses as the tools of OVS write them: `unix:PATH`, `tcp:HOST:PORT` or `ssl:HOST:PORT`; with commas between those
   * of the members of a cluster.
   */
  readonly address: string
  readonly tls?: TlsFiles
  /** The name of the database: `OVN_Northbound`, … */
  readonly name: string
  /** The replicated columns, by table. A column that the server's schema lacks is left out. */
  readonly tables: Readonly<Record<string, readonly string[]>>
  readonly clock: Clock
  readonly log: Logger
}

/** The rows by UUID. */
export type Table = ReadonlyMap<string, Row>
/** One operation of a transaction (RFC 7047, section 5.2). */
export type Operation = Readonly<Record<string, unknown>> & { readonly op: string }

export interface OperationResult {
  readonly error?: string
  readonly details?: string
  /** The UUID of an inserted row. */
  readonly uuid?: readonly ['uuid', string]
}

/** Called with the tables that changed. */
type ChangeListener = (tables: readonly string[]) => void

interface Connected {
  /** Settles when the connection is lost. */
  readonly closed: Promise<void>
}

type RowUpdate = Readonly<Partial<Record<'initial' | 'insert' | 'modify' | 'delete', unknown>>>
type TableUpdates = Readonly<Record<string, Readonly<Record<string, RowUpdate>>>>

const NEVER = '00000000-0000-0000-0000-000000000000'
const MONITOR = 'weir'
const PAUSES_MS = [0, 100, 300, 1_000, 2_000]

/**
 * A replica of some tables of one OVSDB database, and transactions on it. It reconnects by itself; without a connection
 * it keeps the last rows.
 */
export class OvsdbDatabase implements AsyncDisposable {
  readonly #options: OvsdbOptions
  readonly #stop = new AbortController()
  readonly #listeners = new Set<ChangeListener>()
  #tables: Map<string, Map<string, Row>> = new Map()
  #schema: Schema = {}
  #connection: OvsdbConnection | undefined
  /** Changes that arrived before the rows that they change. */
  #early: [last: string, updates: TableUpdates][] = []
  /** The last transaction that the replica holds. */
  #last = NEVER
  #keeping: Promise<void> = Promise.resolve()

  private constructor(options: OvsdbOptions) {
    this.#options = options
  }

  /** Afterwards the replica is complete. Throws `unavailable` if no server answers, `invalid` for a malformed address. */
  static async open(options: OvsdbOptions): Promise<OvsdbDatabase> {
    const database = new OvsdbDatabase(options)
    const { closed } = await database.#connect()
    database.#keeping = database.#keepConnected(closed)
    return database
  }

  get schema(): Schema {
    return this.#schema
  }

  get isConnected(): boolean {
    return this.#connection !== undefined
  }

  /** The rows of a replicated table at present. */
  table(name: string): Table {
    return this.#tables.get(name) ?? new Map()
  }

  /**
   * Calls `listener` after each change of the replica, and for all tables at each connection; returns the function that
   * stops this.
   */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Resolves once `test` is true for the replica. Throws the signal's reason when aborted first. */
  async until(test: () => boolean, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (test()) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const stop = this.onChange(() => {
      if (test()) resolve()
    })
    const abort = () => reject(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
    try {
      await promise
    } finally {
      stop()
      signal.removeEventListener('abort', abort)
    }
  }

  /**
   * Commits all of the operations, or none. Throws `conflict` if a `wait` found another state, `unavailable` without a
   * connection or an answer, which leaves the outcome unknown, and `internal` for any other refusal.
   */
  async transact(
    operations: readonly Operation[],
    signal?: AbortSignal,
  ): Promise<readonly OperationResult[]> {
    const { name, address } = this.#options
    if (this.#connection === undefined)
      throw new Failure('unavailable', `${name} at ${address} is not connected.`)
    const answer = await this.#connection.call('transact', [name, ...operations], signal)
    const results = answer as readonly (OperationResult | null)[]
    const at = results.findIndex((result) => result?.error !== undefined && result.error !== null)
    if (at < 0) return results.map((result) => result ?? {})
    const { error = '', details = '' } = results[at]!
    const of = JSON.stringify(operations[at] ?? 'commit').slice(0, 500)
    if (error === 'timed out' && operations[at]?.op === 'wait')
      throw new Failure('conflict', `A row of ${name} was changed at the same time.`, {
        detail: of,
      })
    throw new Failure('internal', `${name} at ${address} refused a change.`, {
      detail: `${error}: ${details} ${of}`,
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    this.#connection?.[Symbol.dispose]()
    await this.#keeping
  }

  /** Reconnects whenever the connection is lost, until disposed. */
  async #keepConnected(first: Promise<void>): Promise<void> {
    let connected: Connected | undefined = { closed: first }
    while (connected !== undefined) {
      await connected.closed
      connected = await this.#reconnect()
    }
  }

  /** Tries with growing pauses; undefined once disposed. */
  async #reconnect(): Promise<Connected | undefined> {
    const { clock, log, name, address } = this.#options
    const { signal } = this.#stop
    for (let tries = 0; ; tries += 1) {
      const pauseMs = PAUSES_MS[tries] ?? PAUSES_MS.at(-1)!
      await clock.sleep(pauseMs, signal).catch(() => undefined)
      if (signal.aborted) return undefined
      try {
        return await this.#connect()
      } catch (error) {
        if (tries === 0 && !signal.aborted)
          log.warn({ database: name, address, ...errorFields(error) }, 'OVSDB is not connected')
      }
    }
  }

  /** Connects to the first server that can serve; of a cluster that is its leader. */
  async #connect(): Promise<Connected> {
    const addresses = this.#options.address.split(',').map((address) => address.trim())
    let failure: unknown
    for (const address of addresses)
      try {
        return await this.#connectTo(address, addresses.length > 1)
      } catch (error) {
        if (!isFailure(error, 'unavailable')) throw error
        failure = error
      }
    throw failure
  }

  /** Afterwards the replica is complete. */
  async #connectTo(address: string, isMember: boolean): Promise<Connected> {
    const { tls, name, tables } = this.#options
    const { promise, resolve } = Promise.withResolvers<void>()
    const connection = await OvsdbConnection.open({
      address,
      ...(tls && { tls }),
      onNotification: (method, params) => {
        if (hasLostLead(method, params, name)) connection[Symbol.dispose]()
        if (method !== 'update3') return
        const change = [params[1], params[2]] as [string, TableUpdates]
        if (this.#connection === undefined) this.#early.push(change)
        else this.#update(...change)
      },
      onClosed: () => {
        if (this.#connection === connection) this.#connection = undefined
        resolve()
      },
    })
    this.#early = []
    try {
      if (isMember) await requireLeader(connection, name)
      this.#schema = readSchema(await connection.call('get_schema', [name]))
      const wanted = Object.entries(tables).flatMap(([table, columns]) => {
        const known = this.#schema[table]
        if (known === undefined) return []
        return [[table, [{ columns: columns.filter((column) => column in known) }]] as const]
      })
      const asked = [name, MONITOR, Object.fromEntries(wanted), this.#last]
      const answer = await connection.call('monitor_cond_since', asked)
      const [isContinued, last, updates] = answer as [boolean, string, TableUpdates]
      if (!isContinued) this.#tables = new Map(wanted.map(([table]) => [table, new Map()]))
      this.#update(last, updates)
      for (const change of this.#early.splice(0)) this.#update(...change)
      this.#stop.signal.throwIfAborted()
      this.#connection = connection
      this.#notify(Object.keys(tables))
      return { closed: promise }
    } catch (error) {
      connection[Symbol.dispose]()
      throw error
    }
  }

  #update(last: string, updates: TableUpdates): void {
    this.#last = last
    for (const [table, rows] of Object.entries(updates)) {
      const known = this.#tables.get(table)
      if (known === undefined) continue
      for (const [id, update] of Object.entries(rows)) this.#updateRow(table, known, id, update)
    }
    if (this.#connection !== undefined) this.#notify(Object.keys(updates))
  }

  #notify(tables: readonly string[]): void {
    for (const listener of this.#listeners) listener(tables)
  }

  #updateRow(table: string, known: Map<string, Row>, id: string, update: RowUpdate): void {
    if ('delete' in update) {
      known.delete(id)
      return
    }
    const columns = this.#schema[table]!
    const before = known.get(id)
    const change = update.modify ?? update.insert ?? update.initial ?? {}
    const row: Record<string, Value> = { ...(before ?? this.#emptyRow(table)) }
    for (const [name, value] of Object.entries(change as Record<string, unknown>)) {
      const column = columns[name]!
      const decoded = decode(value, column)
      row[name] = update.modify === undefined ? decoded : changed(row[name]!, decoded, column)
    }
    known.set(id, row)
  }

  /** New rows arrive without the columns that have their default. */
  #emptyRow(table: string): Row {
    const columns = this.#schema[table]!
    const names = this.#options.tables[table]!.filter((name) => name in columns)
    return Object.fromEntries(names.map((name) => [name, columns[name]!.empty]))
  }
}
