import type { NatsConnection } from '@nats-io/transport-node'
import { type Service, serve } from '#common/bus/serve.ts'
import { checked } from '#openapi/wire/checked.ts'
import {
  CONSOLE_OPERATIONS,
  type ConsoleAnswer,
  type ConsoleAsk,
  type ConsoleOperation,
} from '#openapi/wire/console.ts'
import { directSubject } from '#openapi/wire.ts'
import type { Compute } from '../compute.ts'
import type { Consoles } from './consoles.ts'

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
