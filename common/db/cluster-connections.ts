import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolConnection } from 'mysql2'
import { ClusterNodes, type NewWriter } from './cluster-nodes.ts'
import type { PoolOptions } from './pool.ts'
import { NotReached } from './retry.ts'
import {
  type ConnectionKind,
  type Connections,
  type ConnectionUse,
  ServerPools,
} from './server-pools.ts'

/** How long one connection waits for a writer that can be reached; work that is repeated waits again. */
const WRITER_WAIT_MS = 2_000
/**
 * Transactions that run on a node that is well end there, unless they take longer. Other programs may use another node as
 * long: meanwhile each read waits for what they have committed.
 */
const DRAIN_MS = 5_000

/** The connections to the writer of a cluster. */
export class ClusterConnections implements Connections {
  readonly #options: PoolOptions
  readonly #nodes: ClusterNodes
  #writer: ServerPools | undefined
  #givenUp = new AbortController()
  readonly #leaving = new Set<Promise<void>>()

  constructor(urls: readonly string[], options: PoolOptions) {
    this.#options = options
    this.#nodes = new ClusterNodes(urls, (writer) => this.#follow(writer))
  }

  /** Of those to the writer. */
  get use(): ConnectionUse {
    return this.#writer?.use ?? { open: 0, busy: 0, waiting: 0 }
  }

  async connect(kind: ConnectionKind): Promise<PoolConnection> {
    const until = performance.now() + WRITER_WAIT_MS
    const { signal } = this.#givenUp
    await this.#nodes.waitForWriter(WRITER_WAIT_MS)
    for (;;) {
      const writer = this.#writer
      if (writer === undefined) throw new NotReached(new Error('No database server is the writer.'))
      try {
        return await writer.connect(kind)
      } catch (cause) {
        const error = this.#writer === writer ? cause : new NotReached(cause)
        this.#nodes.wake()
        const leftMs = until - performance.now()
        if (!(error instanceof NotReached) || leftMs <= 0 || signal.aborted) throw error
        // Many dial together: they would take the processor that a cluster needs to choose its next writer.
        if (this.#writer === writer) await this.#nodes.waitForAnswer(leftMs, signal)
      }
    }
  }

  giveUp(): void {
    this.#givenUp.abort()
    this.#givenUp = new AbortController()
    this.#writer?.giveUp()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#givenUp.abort()
    await this.#nodes[Symbol.asyncDispose]()
    await Promise.all([this.#writer?.[Symbol.asyncDispose](), ...this.#leaving])
  }

  #follow({ url, isBeforeWell, isDisputed }: NewWriter): void {
    const before = this.#writer
    this.#writer = new ServerPools({ ...this.#options, url }, isDisputed ? DRAIN_MS : 0)
    if (before === undefined) return
    if (!isBeforeWell) before.giveUp()
    const left = leave(before, isBeforeWell ? DRAIN_MS : 0).finally(() =>
      this.#leaving.delete(left),
    )
    this.#leaving.add(left)
  }
}

async function leave(pools: ServerPools, afterMs: number): Promise<void> {
  await sleep(afterMs, undefined, { ref: false })
  await pools[Symbol.asyncDispose]().catch(() => undefined)
}
