import { systemClock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import { errorFields, type Logger } from '#common/log.ts'
import { abortable } from '../abortable.ts'
import { RpcConnection } from './rpc/connection.ts'
import { PROCEDURES, type Procedure, type QemuProcedure } from './rpc/procedures.ts'
import type { DomainRef } from './rpc/refs.ts'
import type { XdrReader } from './rpc/xdr-reader.ts'
import { XdrWriter } from './rpc/xdr-writer.ts'
import type { LibvirtAddress } from './uri.ts'

const BACKOFF_MIN_MS = 100
const BACKOFF_MAX_MS = 5_000
/** virtproto: REMOTE_AUTH_NONE. The socket's owner and mode are what guards a local daemon. */
const AUTH_NONE = 0
/** libvirt's src/libvirt_internal.h: VIR_DRV_FEATURE_PROGRAM_KEEPALIVE. */
const FEATURE_PROGRAM_KEEPALIVE = 10
/** virDomainEventID. */
const EVENT_LIFECYCLE = 0
const EVENT_DEVICE_REMOVED = 15
/** 8.0.0: networkUpdate takes its arguments in the documented order, and DHCP entries change live. */
const LIBRARY_VERSION_MIN = 8_000_000

export interface LifecycleEvent {
  readonly domain: DomainRef
  /** virDomainEventType. */
  readonly event: number
  /** Depends on `event`, such as virDomainEventStoppedDetailType. */
  readonly detail: number
}

/** A guest has released a device. */
export interface RemovalEvent {
  readonly domain: DomainRef
  readonly alias: string
}

/**
 * A connection to one daemon that comes back by itself. While the daemon is away every call throws `unavailable`
 * at once, so nothing piles up; as soon as it is back, events are asked for again and calls go through.
 */
export class LibvirtSession implements AsyncDisposable {
  readonly #address: LibvirtAddress
  readonly #logger: Logger | undefined
  readonly #stop = new AbortController()
  readonly #listeners = new Set<(event: LifecycleEvent) => void>()
  readonly #removalListeners = new Set<(event: RemovalEvent) => void>()
  readonly #firstTry = Promise.withResolvers<void>()
  readonly #loop: Promise<void>
  #connection: RpcConnection | undefined
  #away = false
  /** Why the last try to connect failed. */
  #why: unknown

  constructor(address: LibvirtAddress, logger?: Logger) {
    this.#address = address
    this.#logger = logger
    this.#loop = this.#keepConnected()
  }

  /** True while calls go through. */
  get connected(): boolean {
    return this.#connection !== undefined
  }

  /** Calls a procedure. Throws the daemon's refusal as a failure, `unavailable` with the cause when there is no daemon. */
  async call(procedure: Procedure, args: XdrWriter, signal: AbortSignal): Promise<XdrReader> {
    return (await this.#connected(signal)).call(procedure, args.bytes(), signal)
  }

  /** The same for a procedure of QEMU's own program. */
  async callQemu(
    procedure: QemuProcedure,
    args: XdrWriter,
    signal: AbortSignal,
  ): Promise<XdrReader> {
    return (await this.#connected(signal)).callQemu(procedure, args.bytes(), signal)
  }

  async #connected(signal: AbortSignal): Promise<RpcConnection> {
    await abortable(this.#firstTry.promise, signal)
    if (this.#connection !== undefined) return this.#connection
    throw new Failure('unavailable', 'The hypervisor is not reachable at the moment.', {
      cause: this.#why,
    })
  }

  /** Calls `listener` for every lifecycle event from now on, over reconnects. Returns what stops it. */
  onLifecycle(listener: (event: LifecycleEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The same for every device that a guest releases. */
  onRemoval(listener: (event: RemovalEvent) => void): () => void {
    this.#removalListeners.add(listener)
    return () => this.#removalListeners.delete(listener)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    this.#connection?.[Symbol.dispose]()
    await this.#loop
  }

  async #keepConnected(): Promise<void> {
    const { signal } = this.#stop
    let backoffMs = BACKOFF_MIN_MS
    while (!signal.aborted) {
      const connected = await this.#connectOnce()
      this.#firstTry.resolve()
      if (connected) backoffMs = BACKOFF_MIN_MS
      if (signal.aborted) break
      await systemClock.sleep(backoffMs, signal).catch(() => undefined)
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS)
    }
    this.#firstTry.resolve()
  }

  /** Connects and stays until the connection ends. False when it never was usable. */
  async #connectOnce(): Promise<boolean> {
    try {
      using connection = await RpcConnection.open(this.#address.dial, (procedure, body) =>
        this.#deliver(procedure, body),
      )
      await greet(connection, this.#address.driverUri)
      // Of all domains.
      for (const event of [EVENT_LIFECYCLE, EVENT_DEVICE_REMOVED]) {
        const events = new XdrWriter().int(event).uint(0)
        await connection.call(PROCEDURES.domainEventCallbackRegister, events.bytes())
      }
      if (this.#stop.signal.aborted) return true
      this.#connection = connection
      this.#away = false
      this.#why = undefined
      this.#firstTry.resolve()
      this.#logger?.info({ uri: this.#address.driverUri }, 'hypervisor connected')
      await new Promise<void>((resolve) => connection.onClose(resolve))
      this.#logger?.warn({ uri: this.#address.driverUri }, 'hypervisor connection lost')
      return true
    } catch (error) {
      // Told once, not at every try.
      if (!this.#away) this.#logger?.warn(errorFields(error), 'hypervisor not reachable')
      this.#away = true
      this.#why = error
      return false
    } finally {
      this.#connection = undefined
    }
  }

  #deliver(procedure: number, body: XdrReader): void {
    if (procedure === PROCEDURES.domainEventCallbackLifecycle) {
      body.int() // The callback's id: there is one, for all domains.
      const event = { domain: body.domain(), event: body.int(), detail: body.int() }
      for (const listener of this.#listeners) listener(event)
    } else if (procedure === PROCEDURES.domainEventCallbackDeviceRemoved) {
      body.int()
      const event = { domain: body.domain(), alias: body.text() }
      for (const listener of this.#removalListeners) listener(event)
    }
  }
}

/** A client's first messages: no authentication, keepalive, the driver. */
export async function greet(connection: RpcConnection, driverUri: string): Promise<void> {
  const types = (await connection.call(PROCEDURES.authList, Buffer.alloc(0))).list((r) => r.int())
  if (!types.includes(AUTH_NONE))
    throw new Failure(
      'unavailable',
      'The hypervisor requires an authentication that Weir does not support.',
      {
        detail: `auth types ${types.join(', ')}; set auth_unix_rw = "none" in libvirtd.conf`,
      },
    )
  // Asking for it is how a client says that it answers pings; the daemon then starts to send them.
  const keepalive = new XdrWriter().int(FEATURE_PROGRAM_KEEPALIVE)
  await connection.call(PROCEDURES.connectSupportsFeature, keepalive.bytes())
  const open = new XdrWriter().optionalText(driverUri).uint(0)
  await connection.call(PROCEDURES.connectOpen, open.bytes())
  const version = (await connection.call(PROCEDURES.connectGetLibVersion, Buffer.alloc(0))).ulong()
  if (version < LIBRARY_VERSION_MIN)
    throw new Failure('unavailable', 'The libvirt daemon is too old: 8.0.0 is needed.', {
      detail: `version ${version}`,
    })
}
