import { setTimeout as sleep } from 'node:timers/promises'
import { type Account, type Answer, ApiClient } from './api/client.ts'
import { askForServer, SERVERS, type Server } from './api/servers.ts'
import type { Cloud } from './cloud.ts'

/** An answer that a user should not have had. */
export interface Refused {
  /** Seconds since the load began. */
  readonly at: number
  readonly what: string
  /** The status, or why there was none. */
  readonly how: string
}

interface Boot {
  readonly begunAt: number
  readonly endedAt: number
}

export interface LoadFigures {
  readonly boots: number
  /** The longest time in which no request was answered, and in which no boot ended, in milliseconds. */
  readonly longestSilenceMs: number
  readonly longestGapMs: number
  /** The slowest boot, in milliseconds. */
  readonly slowestMs: number
}

/** What the load needs of a cloud. */
export interface LoadedCloud extends Pick<Cloud, 'as' | 'catalog' | 'projectId'> {
  readonly foundation: { readonly accounts: { readonly demo: Account } }
}

const EVERY_MS = 100
/** What a gap is known to. One look shows all servers: users who each looked so often would saturate a small machine. */
const LOOK_MS = 25
/** Of a user who waits for a server that is in no list any more. */
const GONE_LOOK_MS = 100
/** No more are in one list. */
const OPEN_MAX = 100
const WAIT_LIMIT_MS = 60_000

/**
 * Users who boot a server ten times a second, wait until it runs, look at it, delete it and wait until it is gone, at each
 * gateway in turn, until the load is ended. Nothing is repeated, and every answer that is none of a healthy cloud is kept.
 */
export class SteadyLoad {
  readonly refused: Refused[] = []
  readonly #cloud: LoadedCloud
  readonly #user: ApiClient
  readonly #startedAt = performance.now()
  readonly #boots: Boot[] = []
  /** When requests were answered, in order. */
  readonly #answeredAt: number[] = []
  readonly #open = new Set<Promise<void>>()
  readonly #users: Promise<void>
  readonly #looks: Promise<void>
  /** By id, as last seen. */
  #statuses: ReadonlyMap<string, string> = new Map()
  #looked = Promise.withResolvers<void>()
  #isOver = false
  #isWatched = true

  private constructor(cloud: LoadedCloud, user: ApiClient) {
    this.#cloud = cloud
    this.#user = user
    this.#users = this.#begin()
    this.#looks = this.#watch()
  }

  /** Begins once the users may have as many servers as they ask for. `proxy`: the address that they use. */
  static async begin(cloud: LoadedCloud, proxy?: string): Promise<SteadyLoad> {
    const admin = cloud.as('admin')
    const project = await cloud.projectId('demo')
    const compute = { quota_set: { instances: -1, cores: -1, ram: -1 } }
    const network = { quota: { port: -1 } }
    for (const { status } of [
      await admin.put(`/compute/v2.1/os-quota-sets/${project}`, compute),
      await admin.put(`/networking/v2.0/quotas/${project}`, network),
    ])
      if (status !== 200) throw new Error(`A change of quotas answered ${status}`)
    const { demo } = cloud.foundation.accounts
    return new SteadyLoad(
      cloud,
      proxy === undefined ? cloud.as('demo') : new ApiClient(demo, () => [proxy]),
    )
  }

  /** Resolves once `count` boots have ended that began after this was called. */
  async untilBooted(count: number): Promise<void> {
    const from = this.#now()
    const signal = AbortSignal.timeout(WAIT_LIMIT_MS)
    while (this.#since(from).length < count) {
      if (signal.aborted)
        throw new Error(
          `Only ${this.#since(from).length} of ${count} boots ended in ${WAIT_LIMIT_MS} ms; refused: ${JSON.stringify(this.refused.slice(0, 5))}`,
        )
      await sleep(LOOK_MS)
    }
  }

  /** Resolves once the servers that users asked for before this was called are gone. */
  async untilGone(): Promise<void> {
    await Promise.all(this.#open)
  }

  /** Of the time in which `work` is done. */
  async during(work: () => Promise<void>): Promise<LoadFigures> {
    const from = this.#now()
    await work()
    const ended = this.#boots.filter(({ endedAt }) => endedAt >= from)
    const to = this.#now()
    const answered = this.#answeredAt.filter((at) => at >= from)
    return {
      boots: ended.length,
      longestSilenceMs: longestBetween([from, ...answered, to]),
      longestGapMs: longestBetween([from, ...ended.map(({ endedAt }) => endedAt), to]),
      slowestMs: Math.round(Math.max(0, ...ended.map((boot) => boot.endedAt - boot.begunAt))),
    }
  }

  /** Resolves once every server of the load is gone. */
  async end(): Promise<void> {
    this.#isOver = true
    await this.#users
    await this.untilGone()
    this.#isWatched = false
    await this.#looks
  }

  async #begin(): Promise<void> {
    for (let nth = 1; !this.#isOver; nth += 1) {
      if (this.#open.size < OPEN_MAX) {
        const life = this.#live(`load-${nth}`).catch((error: unknown) => {
          this.#refuse('a whole life', String(error))
        })
        this.#open.add(life)
        void life.finally(() => this.#open.delete(life))
      }
      await sleep(EVERY_MS)
    }
  }

  /** From the request for a server until it is gone. */
  async #live(name: string): Promise<void> {
    const demo = this.#user
    const begunAt = this.#now()
    const created = await this.#call('create', [202], () =>
      askForServer(this.#cloud, demo, { name }),
    )
    if (created === undefined) return
    const path = `${SERVERS}/${created.body.server.id}`
    const { id } = created.body.server
    await this.#whenSeen(id, (status) => status === 'ACTIVE' || status === 'ERROR')
    this.#boots.push({ begunAt, endedAt: this.#now() })
    const shown = await this.#call('show', [200], () => demo.get<{ server: Server }>(path))
    if (shown?.body.server.status === 'ERROR')
      this.#refuse('boot', JSON.stringify(shown.body.server.fault))
    await this.#call('delete', [204], () => demo.delete(path))
    await this.#whenSeen(id, (status) => status === undefined)
    const isGone = async () =>
      (await this.#call('show', [200, 404], () => demo.get(path)))?.status === 404
    const signal = AbortSignal.timeout(WAIT_LIMIT_MS)
    while (!(await isGone())) await sleep(GONE_LOOK_MS, undefined, { signal })
  }

  /** Looks at all servers again and again. */
  async #watch(): Promise<void> {
    const path = `${SERVERS}/detail?limit=${OPEN_MAX}`
    while (this.#isWatched) {
      const seen = await this.#call('list', [200], () =>
        this.#user.get<{ servers: readonly Server[] }>(path),
      )
      if (seen !== undefined)
        this.#statuses = new Map(seen.body.servers.map(({ id, status }) => [id, status]))
      this.#looked.resolve()
      this.#looked = Promise.withResolvers()
      await sleep(LOOK_MS)
    }
  }

  /** Undefined: the server is in no list. */
  async #whenSeen(id: string, isSo: (status: string | undefined) => boolean): Promise<void> {
    const signal = AbortSignal.timeout(WAIT_LIMIT_MS)
    do {
      signal.throwIfAborted()
      await this.#looked.promise
    } while (!isSo(this.#statuses.get(id)))
  }

  /** Undefined for an answer of another status, which is kept. */
  async #call<T>(
    what: string,
    good: readonly number[],
    call: () => Promise<Answer<T>>,
  ): Promise<Answer<T> | undefined> {
    try {
      const answer = await call()
      if (good.includes(answer.status)) {
        this.#answeredAt.push(this.#now())
        return answer
      }
      this.#refuse(what, `${answer.status} ${JSON.stringify(answer.body)}`)
    } catch (error) {
      this.#refuse(what, String(error))
    }
    return undefined
  }

  #refuse(what: string, how: string): void {
    this.refused.push({ at: Math.round(this.#now() / 100) / 10, what, how: how.slice(0, 300) })
  }

  #since(from: number): readonly Boot[] {
    return this.#boots.filter(({ begunAt }) => begunAt >= from)
  }

  #now(): number {
    return performance.now() - this.#startedAt
  }
}

function longestBetween(times: readonly number[]): number {
  return Math.round(Math.max(...times.slice(1).map((at, nth) => at - (times[nth] ?? at))))
}
