import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from 'mysql2/promise'
import { Failure } from '../errors.ts'
import { chooseWriter, isSilent, type NodeState } from './choose-writer.ts'
import { NodeConnection } from './node-connection.ts'
import { electedAfterAll, electWriter, queryState, RESPONSE_TIMEOUT_MS } from './node-state.ts'

/** Between two looks at a node: while the writer is known, and while it is looked for. */
const QUERY_EVERY_MS = 400
const SEARCH_MS = 100
/** Other programs learn within this time that a writer was passed over; until then the new one is not used. */
const NOTICE_MS = 1_000

export interface NewWriter {
  readonly url: string
  /** The node of before still takes statements. */
  readonly isBeforeWell: boolean
  /** Other programs may use another node for a moment. */
  readonly isDisputed: boolean
}

export interface NodesWatcher {
  /** From now on this one is the writer. */
  readonly follow: (writer: NewWriter) => void
  /** The node does not answer. */
  readonly lost?: (url: string) => void
}

/**
 * Watches the nodes of a cluster of databases and knows the writer: the one node that all programs use. So nothing is
 * refused because two nodes changed one row, and what one program wrote another reads at once.
 */
export class ClusterNodes implements AsyncDisposable {
  readonly #watcher: NodesWatcher
  readonly #states = new Map<string, NodeState>()
  readonly #connections: ReadonlyMap<string, NodeConnection>
  readonly #stopped = new AbortController()
  readonly #stop = new Promise<void>((resolve) => {
    this.#stopped.signal.addEventListener('abort', () => resolve())
  })
  readonly #loops: Promise<unknown>
  readonly #arrival = Promise.withResolvers<void>()
  readonly #wakers = new Set<() => void>()
  /** Those who wait for the writer's next answer. */
  readonly #hearers = new Set<() => void>()
  #writer: string | undefined
  /** The time of the writer's last answer. */
  #knownAt = performance.now()
  /** How many times each node has answered in a row since then. */
  readonly #answers = new Map<string, number>()
  /** Before this time no other writer is used. */
  #usableAt = 0

  constructor(urls: readonly string[], watcher: NodesWatcher) {
    this.#watcher = watcher
    const connectionTo = (url: string) =>
      new NodeConnection(url, RESPONSE_TIMEOUT_MS, () => this.#forget(url))
    this.#connections = new Map(urls.map((url) => [url, connectionTo(url)]))
    this.#loops = Promise.all(urls.map((url) => this.#watch(url)))
  }

  get writer(): string | undefined {
    return this.#writer
  }

  /** Resolves once a writer is known, at the latest after `limitMs`. */
  async waitForWriter(limitMs: number): Promise<void> {
    if (this.#writer !== undefined) return
    const { signal } = this.#stopped
    const limit = sleep(limitMs, undefined, { signal, ref: false }).catch(() => undefined)
    await Promise.race([this.#arrival.promise, limit])
  }

  /** Resolves when the writer next answers, the same one or its successor, at the latest after `limitMs`, or when `signal` aborts. */
  async waitForAnswer(limitMs: number, signal: AbortSignal): Promise<void> {
    const heard = Promise.withResolvers<void>()
    const hear = () => heard.resolve()
    this.#hearers.add(hear)
    signal.addEventListener('abort', hear)
    const timer = setTimeout(hear, limitMs)
    await heard.promise
    clearTimeout(timer)
    signal.removeEventListener('abort', hear)
    this.#hearers.delete(hear)
  }

  /** Looks at all nodes now: a connection broke. */
  wake(): void {
    for (const each of this.#wakers) each()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort()
    this.wake()
    await this.#loops
  }

  async #watch(url: string): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      // A look that is under way when this stops may never end: its connection is destroyed.
      await Promise.race([this.#queryAndElect(url), this.#stop])
      await this.#pause()
    }
    this.#connections.get(url)!.end()
  }

  async #queryAndElect(url: string): Promise<void> {
    const state = await this.#ask(url, queryState)
    if (state !== undefined) {
      this.#states.set(url, state)
      this.#answers.set(url, (this.#answers.get(url) ?? 0) + 1)
    }
    await this.#choose()
  }

  async #choose(): Promise<void> {
    const mayPassOver = this.#mayPassOver()
    const choice = chooseWriter(this.#states, mayPassOver)
    if (choice.is === 'unknown') return
    const { url } = choice
    if (choice.is === 'candidate') {
      if (mayPassOver) this.#usableAt = performance.now() + NOTICE_MS
      if (await this.#elect(url, choice.insteadOf)) await this.#choose()
      return
    }
    this.#knownAt = performance.now()
    this.#answers.clear()
    if (url !== this.#writer && this.#knownAt >= this.#usableAt) await this.#follow(url)
    if (url === this.#writer) this.#tellHearers()
  }

  /** True where the node then says that a writer was elected, and is not to be asked again for that. */
  async #elect(url: string, insteadOf: string): Promise<boolean> {
    const state = await this.#ask(url, async (connection, name) => {
      await electWriter(connection, name, insteadOf)
      return queryState(connection)
    })
    if (state === undefined || state.elected === insteadOf) return false
    this.#states.set(url, state)
    return true
  }

  #tellHearers(): void {
    for (const each of this.#hearers) each()
  }

  #mayPassOver(): boolean {
    const answers = [...this.#states.keys()].map((url) => this.#answers.get(url) ?? 0)
    return isSilent(performance.now() - this.#knownAt, answers)
  }

  async #follow(url: string): Promise<void> {
    const before = this.#writer
    const isInCluster = this.#states.get(url)?.size !== 0
    const isElected = await this.#ask(url, async (connection, name) => {
      if (!isInCluster) return true
      // It first applies what others have committed, so that no reader misses what was answered before.
      const elected = await electedAfterAll(connection)
      return elected === undefined || elected === name
    })
    if (isElected !== true || this.#writer !== before || this.#stopped.signal.aborted) return
    this.#writer = url
    const isBeforeWell = before !== undefined && this.#states.get(before)?.isInCluster === true
    this.#watcher.follow({
      ...{ url, isBeforeWell },
      // A node that has left the cluster takes no writes.
      isDisputed: isInCluster && (before === undefined || isBeforeWell),
    })
    this.#arrival.resolve()
  }

  /** Undefined where the node does not answer. */
  async #ask<T>(
    url: string,
    question: (connection: Connection, name: string) => Promise<T>,
  ): Promise<T | undefined> {
    if (this.#stopped.signal.aborted) return undefined
    const name = this.#states.get(url)?.name ?? ''
    try {
      return await this.#connections.get(url)!.ask((connection) => question(connection, name))
    } catch {
      return undefined
    }
  }

  #forget(url: string): void {
    this.#states.delete(url)
    this.#answers.delete(url)
    if (!this.#stopped.signal.aborted) this.#watcher.lost?.(url)
  }

  async #pause(): Promise<void> {
    if (this.#stopped.signal.aborted) return
    const woken = Promise.withResolvers<void>()
    this.#wakers.add(woken.resolve)
    const isKnown = this.#writer !== undefined && this.#states.has(this.#writer)
    const timer = setTimeout(woken.resolve, isKnown ? QUERY_EVERY_MS : SEARCH_MS)
    await woken.promise
    clearTimeout(timer)
    this.#wakers.delete(woken.resolve)
  }
}

/** The URL of the server that takes statements, of one or several. Throws `unavailable` when none does for `limitMs`. */
export async function findWriter(
  urls: readonly [string, ...string[]],
  limitMs: number,
): Promise<string> {
  if (urls.length === 1) return urls[0]
  await using nodes = new ClusterNodes(urls, { follow: () => undefined })
  await nodes.waitForWriter(limitMs)
  if (nodes.writer !== undefined) return nodes.writer
  const names = urls.map((url) => new URL(url).host).join(', ')
  throw new Failure(
    'unavailable',
    `None of the database servers ${names} can take statements. Start a majority of them, and check that they form one cluster.`,
  )
}
