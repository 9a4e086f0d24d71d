import type { NatsConnection } from '@nats-io/transport-node'
import { type Service, serve } from '#common/bus/serve.ts'
import type { Clock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { Driver } from '#drivers/driver.ts'
import { checked } from '#openapi/wire/checked.ts'
import {
  CONSOLE_OPERATIONS,
  type ConsoleAnswer,
  type ConsoleAsk,
  type ConsoleOperation,
} from '#openapi/wire/console.ts'
import { directSubject } from '#openapi/wire.ts'
import type { Compute } from '../compute.ts'
import type { Attempts } from '../guests/attempts.ts'
import { ConsoleSession } from './console-session.ts'

interface Open {
  readonly session: Promise<ConsoleSession>
  idle: NodeJS.Timeout
}

const SESSIONS_MAX = 128
const OPEN_LIMIT_MS = 10_000
/** A gateway asks all the time, so one that has not asked for so long is gone. */
const IDLE_MAX_MS = 60_000

/** The consoles of one host that gateways have open. */
export class Consoles implements Disposable {
  readonly #driver: Driver
  readonly #attempts: Attempts
  readonly #clock: Clock
  readonly #sessions = new Map<string, Open>()

  constructor(driver: Driver, attempts: Attempts, clock: Clock) {
    this.#driver = driver
    this.#attempts = attempts
    this.#clock = clock
  }

  async open(ask: ConsoleAsk<'console-open'>): Promise<ConsoleAnswer<'console-open'>> {
    const known = this.#sessions.get(ask.session)
    if (known === undefined && this.#sessions.size >= SESSIONS_MAX)
      throw new Failure('unavailable', 'Too many consoles are open on the host.')
    const session = known?.session ?? this.#opened(ask)
    if (known === undefined) {
      const idle = setTimeout(() => this.close(ask), IDLE_MAX_MS).unref()
      this.#sessions.set(ask.session, { session, idle })
    }
    await session.catch((error: unknown) => {
      this.close(ask)
      throw error
    })
    return {}
  }

  async read(ask: ConsoleAsk<'console-read'>): Promise<ConsoleAnswer<'console-read'>> {
    return (await this.#session(ask.session)).read(ask.seq, ask.waitMs)
  }

  async write(ask: ConsoleAsk<'console-write'>): Promise<ConsoleAnswer<'console-write'>> {
    const session = await this.#session(ask.session)
    await session.write(ask.seq, Buffer.from(ask.bytes, 'base64'))
    return {}
  }

  /** Afterwards the guest's side is closed, too. */
  close({ session: id }: ConsoleAsk<'console-close'>): ConsoleAnswer<'console-close'> {
    const open = this.#sessions.get(id)
    if (open === undefined) return {}
    this.#sessions.delete(id)
    clearTimeout(open.idle)
    void open.session.then(
      (session) => session[Symbol.dispose](),
      () => {},
    )
    return {}
  }

  [Symbol.dispose](): void {
    for (const session of this.#sessions.keys()) this.close({ session })
  }

  async #opened({ serverId, attempt, kind }: ConsoleAsk<'console-open'>): Promise<ConsoleSession> {
    const { console } = this.#driver
    if (console === undefined)
      throw new Failure('unsupported', `Servers on driver '${this.#driver.name}' have no console.`)
    const id = serverId as InstanceId
    // The guest of another attempt may be somebody else's by now.
    if (!this.#attempts.isCurrent(id, attempt))
      throw new Failure('conflict', `The host does not have attempt ${attempt} of instance ${id}.`)
    const stream = await console.open(id, kind, AbortSignal.timeout(OPEN_LIMIT_MS))
    return new ConsoleSession(stream, this.#clock)
  }

  #session(id: string): Promise<ConsoleSession> {
    const open = this.#sessions.get(id)
    if (open === undefined) throw new Failure('not-found', 'The console is not open.')
    open.idle.refresh()
    return open.session
  }
}

type Handlers = {
  readonly [O in ConsoleOperation]: (
    ask: ConsoleAsk<O>,
  ) => ConsoleAnswer<O> | Promise<ConsoleAnswer<O>>
}

/** Answers gateways on the consoles of this host until disposed. */
export function serveConsoles(
  { host, log }: Compute,
  consoles: Consoles,
  nats: NatsConnection,
): readonly AsyncDisposable[] {
  const handlers: Handlers = {
    'console-open': (ask) => consoles.open(ask),
    'console-read': (ask) => consoles.read(ask),
    'console-write': (ask) => consoles.write(ask),
    'console-close': (ask) => consoles.close(ask),
  }
  return (Object.keys(handlers) as ConsoleOperation[]).map((operation) => {
    const handle = handlers[operation] as (ask: never) => unknown
    const service: Service = {
      subject: directSubject(host.cellId, host.id, operation),
      parse: (payload) => checked(CONSOLE_OPERATIONS[operation].ask, payload, operation),
      handle: async (ask) => handle(ask),
    }
    return serve(nats, service, log)
  })
}
