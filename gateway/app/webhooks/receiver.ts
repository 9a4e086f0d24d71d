import { createHmac } from 'node:crypto'
import { type Agent, request } from 'undici'
import type { Clock } from '#common/clock.ts'
import { errorChain } from '#common/errors.ts'
import { pinnedAgent } from '../pinned-agent.ts'
import { checkWebhookAddress, checkWebhookUrl, type WebhookRules } from './webhook-url.ts'

/** An event as it is sent. */
export interface Message {
  readonly webhookId: string
  /** Of the event: the same in every attempt. */
  readonly eventId: string
  readonly type: string
  /** JSON. */
  readonly body: string
}

/** Why a message was not taken. `isAnswered`: a server refused this message, and may take another. */
export interface Refusal {
  readonly why: string
  readonly isAnswered: boolean
}

export interface ReceiverOptions {
  readonly url: string
  /** Each of them signs. */
  readonly secrets: readonly string[]
  readonly rules: WebhookRules
  readonly clock: Pick<Clock, 'now'>
  readonly signal: AbortSignal
}

const ANSWER_MAX_BYTES = 16_384
const REASON_MAX = 255

/** `t=<seconds since the epoch>,v1=<HMAC-SHA256 of the time, a dot and the body, hexadecimal>`, the last for each secret. */
export function signature(secrets: readonly string[], seconds: number, body: string): string {
  const digests = secrets.map((secret) =>
    createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex'),
  )
  return [`t=${seconds}`, ...digests.map((digest) => `v1=${digest}`)].join(',')
}

/** The server of a webhook. Addresses of its name are resolved and checked once, at the first message. */
export class Receiver implements AsyncDisposable {
  readonly #options: ReceiverOptions
  #agent: Agent | undefined

  constructor(options: ReceiverOptions) {
    this.#options = options
  }

  /** Sends a message; undefined once a success was answered. Redirects are not followed: they could lead to other networks. */
  async send(message: Message): Promise<Refusal | undefined> {
    try {
      const status = await this.#post(message)
      if (status >= 200 && status < 300) return undefined
      const hint = status >= 300 && status < 400 ? '; redirects are not followed' : ''
      return { why: `The receiver answered ${status}${hint}.`, isAnswered: true }
    } catch (error) {
      const why = `The receiver did not answer: ${errorChain(error)}`
      return { why: why.slice(0, REASON_MAX), isAnswered: false }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent?.destroy()
  }

  async #post({ webhookId, eventId, type, body }: Message): Promise<number> {
    const { url: text, secrets, rules, clock, signal } = this.#options
    const url = checkWebhookUrl(text, rules)
    this.#agent ??= await pinnedAgent(url, (address) => checkWebhookAddress(address, rules))
    const seconds = Math.floor(clock.now() / 1_000)
    const { statusCode, body: answer } = await request(url, {
      method: 'POST',
      dispatcher: this.#agent,
      signal: AbortSignal.any([signal, AbortSignal.timeout(rules.timeoutMs)]),
      headers: {
        'content-type': 'application/json',
        'user-agent': 'weir',
        'weir-webhook': webhookId,
        'weir-event': eventId,
        'weir-event-type': type,
        'weir-signature': signature(secrets, seconds, body),
      },
      body,
    })
    await answer.dump({ limit: ANSWER_MAX_BYTES }).catch(() => undefined)
    return statusCode
  }
}
