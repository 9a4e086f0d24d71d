import type { Msg, NatsConnection } from '@nats-io/transport-node'
import { systemClock } from '../clock.ts'
import type { WorkContext } from '../context.ts'
import { Failure, isFailure } from '../errors.ts'
import { errorFields, type Logger } from '../log.ts'
import { secondsSince } from '../metrics/measure.ts'
import { type BusRequestEnd, serveMeasure } from '../metrics/measures.ts'
import { settledWithin } from '../settled-within.ts'
import { beginSpan, isTraced } from '../trace/span.ts'
import { busSpan } from './bus-span.ts'
import { DelayEstimator } from './delay-estimator.ts'
import type { Envelope } from './envelope.ts'
import { deadlineOf, siteGenerationOf, workOf } from './headers.ts'
import { operationOf } from './operation-of.ts'

export interface Service {
  /** With a wildcard: everything below it. */
  readonly subject: string
  /** Processes that share a queue share the work; absent: everyone gets every message. */
  readonly queue?: string
  /** Throws `invalid` for a payload that breaks the contract, else returns it typed; `asked` is the subject it came to. */
  readonly parse: (payload: unknown, asked: string) => unknown
  readonly handle: (ask: never, work: WorkContext) => Promise<unknown>
  /** Called first, with the generation of the site that asks. Throws for one that is not to be answered. */
  readonly admit?: (generation: number) => Promise<void> | void
}

/** How long the bus may take to confirm that it sends nothing more; it does not while it is lost. */
const LAST_WORD_MS = 2_000

/**
 * Serves one subject until disposed, finishing what was begun or is on its way. Every outcome, bugs included, is
 * answered.
 */
export function serve(nats: NatsConnection, service: Service, log: Logger): AsyncDisposable {
  const open = new Set<Promise<void>>()
  const subscription = nats.subscribe(service.subject, {
    ...(service.queue === undefined ? {} : { queue: service.queue }),
    callback: (error, message) => {
      if (error !== null) {
        log.error({ subject: service.subject, error: error.message }, 'subscription failed')
        return
      }
      if (isTooLate(message)) return
      const startedAt = performance.now()
      const answered = answer(service, message, log).then((envelope) => {
        respond(message, envelope, log)
        if (serveMeasure.isOn)
          serveMeasure.report({
            operation: operationOf(message.subject),
            outcome: outcomeOf(envelope),
            seconds: secondsSince(startedAt),
          })
      })
      open.add(answered)
      void answered.finally(() => open.delete(answered))
    },
  })
  return {
    async [Symbol.asyncDispose]() {
      // Without this, requests that the bus sent before the subscription was active would be lost, and their callers
      // would wait until the deadline.
      if (!nats.isClosed()) await settledWithin(systemClock, LAST_WORD_MS, subscription.drain())
      subscription.unsubscribe()
      await Promise.allSettled(open)
    },
  }
}

const lateness = new DelayEstimator()

/** The requester has given up by then and may have asked another process. */
function isTooLate({ headers }: Msg): boolean {
  const deadline = deadlineOf(headers)
  if (deadline === undefined) return false
  const { sender, sentAt, timeoutMs } = deadline
  return lateness.of(sender, sentAt, performance.now()) > timeoutMs
}

function outcomeOf(envelope: Envelope): BusRequestEnd['outcome'] {
  if (envelope.ok) return 'answered'
  return envelope.kind === 'internal' ? 'unanswered' : 'refused'
}

/** Several services that end at the same time: each may have to wait for the bus's last word. */
export function servedTogether(services: readonly AsyncDisposable[]): AsyncDisposable {
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(services.map((service) => service[Symbol.asyncDispose]()))
    },
  }
}

async function answer(service: Service, message: Msg, log: Logger): Promise<Envelope> {
  const received = workOf(message.headers)
  const span = isTraced(received)
    ? beginSpan(received, busSpan('server', message.subject))
    : undefined
  const work = span?.work ?? received
  try {
    await service.admit?.(siteGenerationOf(message.headers))
    const ask = service.parse(payloadOf(message), message.subject) as never
    const value = await service.handle(ask, work)
    if (log.isLevelEnabled('debug'))
      log.debug({ subject: service.subject, request_id: work.requestId }, 'request answered')
    span?.end()
    return { ok: true, value }
  } catch (error) {
    span?.end(error)
    const isExpected = isFailure(error) && error.kind !== 'internal'
    const fields = { subject: service.subject, request_id: work.requestId, ...errorFields(error) }
    if (isExpected) log.debug(fields, 'request refused')
    else log.error(fields, 'request failed')
    const failure = isFailure(error) ? error : new Failure('internal', 'Unexpected error.')
    return { ok: false, kind: failure.kind, message: failure.message }
  }
}

/** The bus refuses payloads that are too large, and every payload once it is closed: neither may end the process. */
function respond(message: Msg, envelope: Envelope, log: Logger): void {
  try {
    message.respond(JSON.stringify(envelope))
  } catch (error) {
    log.error({ subject: message.subject, ...errorFields(error) }, 'answer not sent')
    if (envelope.ok)
      respond(message, { ok: false, kind: 'internal', message: 'The answer was not sent.' }, log)
  }
}

function payloadOf(message: Msg): unknown {
  try {
    return message.json()
  } catch (cause) {
    throw new Failure('invalid', 'The payload is not JSON.', { cause })
  }
}
