import {
  InvalidArgumentError,
  type NatsConnection,
  RequestError,
  TimeoutError,
} from '@nats-io/transport-node'
import type { WorkContext } from '../context.ts'
import { Failure } from '../errors.ts'
import { openEnvelope } from './envelope.ts'
import { workHeaders } from './headers.ts'

export interface Ask {
  readonly subject: string
  /** The failure of a request for a subject that no process serves. */
  readonly otherwise?: string
  readonly payload: unknown
  readonly work: WorkContext
  readonly timeoutMs: number
  /** The recipient's name for messages, such as "Cell north". */
  readonly whom: string
}

/**
 * One request and its answer, not yet validated. Throws `unavailable` when no answer comes in time or no process
 * serves the subject: the request may or may not have been carried out. Throws `internal` for a request that is too
 * large for the bus: it was not sent.
 */
export async function ask(nats: NatsConnection, question: Ask): Promise<unknown> {
  const { subject, otherwise, payload, work, timeoutMs, whom } = question
  const text = JSON.stringify(payload)
  const options = () => ({ timeout: timeoutMs, headers: workHeaders(work, timeoutMs) })
  const reply = await nats
    .request(subject, text, options())
    .catch((cause: unknown) => {
      if (otherwise === undefined || !isServedByNobody(cause)) throw cause
      return nats.request(otherwise, text, options())
    })
    .catch((cause: unknown) => {
      if (cause instanceof InvalidArgumentError)
        throw new Failure('internal', `${whom} could not be asked.`, { cause })
      throw new Failure('unavailable', `${whom} did not answer.`, { cause, detail: silence(cause) })
    })
  return openEnvelope(parse(reply.string()))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function silence(cause: unknown): string {
  if (cause instanceof TimeoutError) return 'no answer in time'
  return isServedByNobody(cause) ? 'nothing serves it' : 'not connected'
}

function isServedByNobody(cause: unknown): boolean {
  return cause instanceof RequestError && cause.isNoResponders()
}
