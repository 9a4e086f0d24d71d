import type { NatsConnection } from '@nats-io/transport-node'
import type { Static, TSchema } from 'typebox'
import { type Service, serve } from '#common/bus/serve.ts'
import { generationGate } from '#common/bus/site-generation.ts'
import { withinWork } from '#common/current-work.ts'
import { checked } from '#openapi/wire/checked.ts'
import type { DirectOperation } from '#openapi/wire/direct.ts'
import { directSubject } from '#openapi/wire.ts'
import type { Compute } from './compute.ts'

type Operations = Readonly<Record<string, { readonly ask: TSchema; readonly answer: TSchema }>>

type Handlers<Ops extends Operations> = {
  readonly [O in keyof Ops]: (
    ask: Static<Ops[O]['ask']>,
    signal: AbortSignal,
  ) => Promise<Static<Ops[O]['answer']>>
}

/** Less than gateways wait: an answer then says that the backend is silent, instead of the host. */
const TIMEOUT_MS = 12_000

const gates = new WeakMap<NatsConnection, (generation: number) => void>()

/** One for all that gateways ask a host: it refuses a site that another one has succeeded. */
function gateOf(nats: NatsConnection): (generation: number) => void {
  const gate = gates.get(nats) ?? generationGate()
  gates.set(nats, gate)
  return gate
}

/** Answers what gateways ask this host directly, until disposed. */
export function serveDirectly<Ops extends Operations>(
  { host, log }: Compute,
  nats: NatsConnection,
  operations: Ops,
  handlers: Handlers<Ops>,
): readonly AsyncDisposable[] {
  const admit = gateOf(nats)
  return Object.entries(operations).map(([name, { ask }]) => {
    const handle = handlers[name] as (ask: unknown, signal: AbortSignal) => Promise<unknown>
    const service: Service = {
      subject: directSubject(host.cellId, host.id, name as DirectOperation),
      admit,
      parse: (payload) => checked(ask, payload, name),
      handle: (asked: unknown, work) =>
        withinWork(work, () => handle(asked, AbortSignal.timeout(TIMEOUT_MS))),
    }
    return serve(nats, service, log)
  })
}
