import {
  InvalidArgumentError,
  type Msg,
  type NatsConnection,
  RequestError,
  TimeoutError,
} from '@nats-io/transport-node'
import type { WorkContext } from '../context.ts'
import { Failure, isFailure } from '../errors.ts'
import { secondsSince } from '../metrics/measure.ts'
import { askMeasure, type BusRequestEnd } from '../metrics/measures.ts'
import { isTraced, withinSpan } from '../trace/span.ts'
import { afterLoss } from './after-loss.ts'
import { busSpan } from './bus-span.ts'
import { openEnvelope } from './envelope.ts'
import { workHeaders } from './headers.ts'
import { operationOf } from './operation-of.ts'
import { RepeatPauses } from './repeat-pauses.ts'
import { generationOf } from './site-generation.ts'

/** Where a question goes. */
export interface Recipient {
  readonly subject: string
  /** Where it goes if no process serves the subject. */
  readonly otherwise?: string
}

export interface Ask extends Recipient {
  /**
   * Where it goes again while no answer comes, for a question or its answer may be lost with a server of the bus. Absent:
   * it is asked once, because doing it twice would be wrong.
   */
  readonly again?: () => Recipient
  readonly payload: unknown
  readonly work: WorkContext
  readonly timeoutMs: number
  /** The recipient's name for messages, such as "Cell north". */
  readonly whom: string
}

const pausesOf = new WeakMap<NatsConnection, RepeatPauses>()

/**
 * A request and the first answer to it, not yet validated. Throws `unavailable` when no answer comes in time or no process
 * serves the subject: the request may or may not have been carried out. Throws `internal` for a request that is too
 * large for the bus: it was not sent.
 */
export async function ask(nats: NatsConnection, question: Ask): Promise<unknown> {
  if (!isTraced(question.work)) return measured(nats, question)
  const start = busSpan('client', question.subject)
  return withinSpan(question.work, start, (work) => measured(nats, { ...question, work }))
}

async function measured(nats: NatsConnection, question: Ask): Promise<unknown> {
  if (!askMeasure.isOn) return answerTo(nats, question)
  const startedAt = performance.now()
  const end = (outcome: BusRequestEnd['outcome']) =>
    askMeasure.report({
      operation: operationOf(question.subject),
      outcome,
      seconds: secondsSince(startedAt),
    })
  try {
    const answer = await answerTo(nats, question)
    end('answered')
    return answer
  } catch (error) {
    end(isFailure(error, 'unavailable') ? 'unanswered' : 'refused')
    throw error
  }
}

async function answerTo(nats: NatsConnection, question: Ask): Promise<unknown> {
  const { whom } = question
  const reply = await firstAnswer(nats, question).catch((cause: unknown) => {
    if (cause instanceof InvalidArgumentError)
      throw new Failure('internal', `${whom} could not be asked.`, { cause })
    throw new Failure('unavailable', `${whom} did not answer.`, {
      cause,
      detail: noAnswerDetail(cause),
    })
  })
  return openEnvelope(parse(reply.string()))
}

async function firstAnswer(nats: NatsConnection, question: Ask): Promise<Msg> {
  const { again, timeoutMs } = question
  const text = JSON.stringify(question.payload)
  const send = (to: Recipient, waitMs: number) =>
    sendOnce(nats, { ...question, ...to }, text, waitMs)
  const first = send(question, timeoutMs)
  if (again === undefined) return first
  const pauses = pausesOf.get(nats) ?? new RepeatPauses()
  pausesOf.set(nats, pauses)
  const begunAt = performance.now()
  const repeated = Promise.withResolvers<Msg>()
  const repeat = () => {
    const leftMs = begunAt + timeoutMs - performance.now()
    // The failure of the first tells why there was no answer.
    if (leftMs >= 1 && !nats.isClosed()) send(again(), leftMs).then(repeated.resolve, () => {})
  }
  let pauseMs = pauses.first()
  const repeatLater = () => {
    repeat()
    pauseMs = pauses.after(pauseMs)
    timer = setTimeout(repeatLater, pauseMs)
  }
  let timer = setTimeout(repeatLater, pauseMs)
  const end = afterLoss(nats, repeat)
  try {
    const answer = await Promise.race([first, repeated.promise])
    pauses.answered(performance.now() - begunAt)
    return answer
  } finally {
    clearTimeout(timer)
    end()
  }
}

function sendOnce(
  nats: NatsConnection,
  { subject, otherwise, work }: Ask,
  text: string,
  timeoutMs: number,
): Promise<Msg> {
  const options = () => ({
    timeout: timeoutMs,
    headers: workHeaders(work, timeoutMs, generationOf(nats)),
  })
  return nats.request(subject, text, options()).catch((cause: unknown) => {
    if (otherwise === undefined || !isServedByNobody(cause)) throw cause
    return nats.request(otherwise, text, options())
  })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function noAnswerDetail(cause: unknown): string {
  if (cause instanceof TimeoutError) return 'no answer in time'
  return isServedByNobody(cause) ? 'nothing serves it' : 'not connected'
}

function isServedByNobody(cause: unknown): boolean {
  return cause instanceof RequestError && cause.isNoResponders()
}
