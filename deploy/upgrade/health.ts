import { request } from 'undici'
import { Failure } from '#common/errors.ts'
import type { components } from '#openapi/federation.gen.ts'
import { callApi, type Session } from '../api/session.ts'

/** Where the state of what is upgraded can be read. */
export interface HealthSource {
  /** The administrator, where one is known here. */
  readonly admin: Session | undefined
  /** Of the gateways here, such as http://127.0.0.1:8774. */
  readonly gateways: readonly string[]
  /** The number of operations that wait for an operator. */
  countStuck(): Promise<number>
}

/** The state at one moment. */
export interface Health {
  readonly unreachable: readonly string[]
  readonly stuck: number
  /** Per gateway, since it was started. */
  readonly answers: ReadonlyMap<string, Answers>
}

interface Answers {
  readonly all: number
  /** With a status from 500. */
  readonly failed: number
}

const CALL_LIMIT_MS = 10_000
/** A share of failed answers so many times as large as before is a sign of trouble. */
const SHARE_TIMES = 3
const SERIES = 'api_request_duration_seconds_count{'
const STATUS = /[{,]status="(\d{3})"/
const NONE: Answers = { all: 0, failed: 0 }

/** Throws `unavailable` where a gateway does not answer. */
export async function readHealth(source: HealthSource): Promise<Health> {
  const { admin, gateways } = source
  const stuck = await source.countStuck()
  if (admin === undefined) return { unreachable: [], stuck, answers: new Map() }
  const { cells } = await callApi<{ cells: readonly components['schemas']['Cell'][] }>(admin, {
    method: 'GET',
    path: '/federation/v1/cells',
  })
  const unreachable = cells.filter((cell) => !cell.is_reachable).map(({ name }) => name)
  const answers = new Map<string, Answers>()
  for (const origin of gateways) answers.set(origin, await answersOf(origin, admin))
  return { unreachable, stuck, answers }
}

/**
 * What is worse than before, for people; undefined where nothing is. `usual` is the state before the upgrade, and `before`
 * a later one, from which answers are counted.
 */
export function whatIsWorse(usual: Health, before: Health, now: Health): string | undefined {
  const lost = now.unreachable.filter((name) => !usual.unreachable.includes(name))
  if (lost.length > 0) return `the gateways do not reach ${lost.join(', ')} (./weir cell list)`
  if (now.stuck > usual.stuck)
    return `${now.stuck - usual.stuck} more operations are stuck (./weir operation list --state failed)`
  for (const [origin, answers] of now.answers) {
    const { all, failed } = since(before.answers.get(origin), answers)
    if (failed > SHARE_TIMES * shareOf(usual) * all)
      return `of ${all} answers of ${origin} ${failed} had a status from 500`
  }
  return undefined
}

/** A gateway that was started since has begun to count again. */
function since(before: Answers = NONE, now: Answers): Answers {
  if (now.all < before.all) return now
  return { all: now.all - before.all, failed: now.failed - before.failed }
}

function shareOf({ answers }: Health): number {
  const sum = (what: keyof Answers) => [...answers.values()].reduce((n, each) => n + each[what], 0)
  return sum('failed') / Math.max(sum('all'), 1)
}

async function answersOf(origin: string, { token }: Session): Promise<Answers> {
  const { statusCode, body } = await request(`${origin}/metrics`, {
    headersTimeout: CALL_LIMIT_MS,
    bodyTimeout: CALL_LIMIT_MS,
    headers: { 'x-auth-token': token },
  }).catch((cause: unknown) => {
    throw new Failure('unavailable', `${origin} does not answer.`, { cause })
  })
  const text = await body.text()
  if (statusCode !== 200)
    throw new Failure('unavailable', `${origin}/metrics was answered ${statusCode}.`)
  return answersIn(text)
}

/** Of the metrics of a gateway, as it writes them. */
export function answersIn(metrics: string): Answers {
  let [all, failed] = [0, 0]
  for (const line of metrics.split('\n').filter((each) => each.startsWith(SERIES))) {
    const count = Number(line.slice(line.lastIndexOf(' ') + 1))
    all += count
    if (Number(STATUS.exec(line)?.[1]) >= 500) failed += count
  }
  return { all, failed }
}
