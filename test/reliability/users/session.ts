import { randomUUID } from 'node:crypto'
import type { SeededRandom } from '#test/env/random.ts'
import { isImpossible, possible } from '../record/history.ts'
import type { Entry, Making, RunRecord, Value, Write } from '../record/record.ts'
import { headersOf, refusalMessage, type SignedIn, signIn } from './account.ts'
import { callHttp, jsonOf } from './http.ts'

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Known before the answer; `made` returns the properties of an object that the request creates. */
  readonly writes?: readonly Write[]
  readonly makes?: Making
  /** The expected properties of the new object, once the answer has given its id. */
  readonly made?: (body: never) => readonly Write[]
  readonly act?: NonNullable<Entry['act']>
}

export interface Answered {
  readonly status: number
  readonly body: unknown
  readonly startMs: number
  readonly endMs: number
}

export interface GatewayAddress {
  readonly name: string
  readonly port: number
}

/** How requests are sent in a run. */
export interface Setting {
  readonly gateways: readonly GatewayAddress[]
  readonly record: RunRecord
  readonly random: SeededRandom
}

const UNAUTHENTICATED = 401

/** A user who asks whichever gateway, and whose every request and answer is on record. */
export class Session {
  readonly setting: Setting
  #user: SignedIn

  constructor(setting: Setting, user: SignedIn) {
    this.setting = setting
    this.#user = user
  }

  get user(): SignedIn {
    return this.#user
  }

  /** Sends the call to this gateway, or any, and records it. No answer makes it throw. */
  async call(call: Call, gateway?: GatewayAddress): Promise<Answered> {
    const { gateways, random, record } = this.setting
    const to = gateway ?? random.pick(gateways)
    const requestId = `req-${randomUUID()}`
    const { method, path, body, makes, made, act } = call
    const isBytes = Buffer.isBuffer(body)
    const writes = call.writes ?? []
    using _pending = record.begin(writes)
    const answer = await callHttp({
      port: to.port,
      method,
      path,
      headers: {
        ...headersOf(this.#user.token),
        ...(isBytes ? { 'content-type': 'application/octet-stream' } : {}),
        'x-openstack-request-id': requestId,
        ...call.headers,
      },
      body: body === undefined || isBytes ? body : JSON.stringify(body),
    })
    const parsed = jsonOf(answer)
    const isGood = answer.status >= 200 && answer.status < 300
    const { status, startMs, endMs } = answer
    const entry: Entry = {
      n: record.entries.length,
      requestId,
      user: this.#user.userName,
      gateway: to.name,
      method,
      path,
      status,
      message: isGood ? '' : refusalMessage(answer),
      startMs,
      endMs,
      writes: isGood && made !== undefined ? [...writes, ...made(parsed as never)] : writes,
      makes,
      act,
    }
    record.add(entry)
    this.#checkMissing(entry)
    if (status === UNAUTHENTICATED) await this.#signInAgain(to)
    return { status, body: parsed, startMs, endMs }
  }

  /** Notes a field that a reading just ended cannot have found so. */
  check(
    reading: Pick<Answered, 'startMs' | 'endMs'>,
    [thing, field]: readonly [string, string],
    value: Value,
  ): void {
    const { record } = this.setting
    const { startMs: fromMs, endMs: untilMs } = reading
    const could = possible(record, { thing, field, fromMs, untilMs })
    if (!isImpossible(could, value)) return
    const allowed = [...could.values].map((each) => JSON.stringify(each)).join(' or ')
    const entry = record.entries.findLast(({ startMs }) => startMs === fromMs)
    if (entry === undefined) return
    record.addWrong(
      entry,
      `${thing} was read with ${field} ${JSON.stringify(value)}, it was ${allowed}`,
    )
  }

  /** A server that was promised and that no user has asked to delete is never "not found". */
  #checkMissing(entry: Entry): void {
    const [, id] = /^\/compute\/v2\.1\/servers\/([0-9a-f-]{36})$/.exec(entry.path) ?? []
    if (entry.status !== 404 || id === undefined) return
    const { startMs, endMs } = entry
    this.check({ startMs, endMs }, [`server:${id}`, 'exists'], false)
  }

  /** A token has an hour, and a gateway whose clock is ahead believes it over sooner. */
  async #signInAgain({ port }: GatewayAddress): Promise<void> {
    this.#user = await signIn(port, this.#user).catch(() => this.#user)
  }
}
