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

/** One server of the cluster, with the connections to it. */
interface Server {
  readonly url: string
  readonly pools: ServerPools
}

/** The connections to the writer of a cluster. */
export class ClusterConnections implements Connections {
  readonly #options: PoolOptions
  readonly #nodes: ClusterNodes
  #writer: Server | undefined
  #givenUp = new AbortController()
  /** Former writers on which transactions may still run, until their connections are closed. */
  readonly #leaving = new Map<Server, Promise<void>>()

  constructor(urls: readonly string[], options: PoolOptions) {
    this.#options = options
    this.#nodes = new ClusterNodes(urls, {
      follow: (writer) => this.#follow(writer),
      lost: (url) => this.#giveUpLeaving(url),
    })
  }

  /** Of those to the writer. */
  get use(): ConnectionUse {
    return this.#writer?.pools.use ?? { open: 0, busy: 0, waiting: 0 }
  }

  async connect(kind: ConnectionKind): Promise<PoolConnection> {
    const until = performance.now() + WRITER_WAIT_MS
    const { signal } = this.#givenUp
    await this.#nodes.waitForWriter(WRITER_WAIT_MS)
    for (;;) {
      const writer = this.#writer
      if (writer === undefined) throw new NotReached(new Error('No database server is the writer.'))
      try {
        return await writer.pools.connect(kind)
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
    this.#writer?.pools.giveUp()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#givenUp.abort()
    await this.#nodes[Symbol.asyncDispose]()
    await Promise.all([this.#writer?.pools[Symbol.asyncDispose](), ...this.#leaving.values()])
  }

  #follow({ url, isBeforeWell, isDisputed }: NewWriter): void {
    const before = this.#writer
    const pools = new ServerPools({ ...this.#options, url }, isDisputed ? DRAIN_MS : 0)
    this.#writer = { url, pools }
    if (before === undefined) return
    if (!isBeforeWell) before.pools.giveUp()
    const left = leave(before.pools, isBeforeWell ? DRAIN_MS : 0)
    this.#leaving.set(
      before,
      left.finally(() => this.#leaving.delete(before)),
    )
  }

  /** What still runs on a node that stopped answering would wait for it as long as a statement may take. */
  #giveUpLeaving(lost: string): void {
    for (const { url, pools } of this.#leaving.keys()) if (url === lost) pools.giveUp()
  }
}

async function leave(pools: ServerPools, afterMs: number): Promise<void> {
  await sleep(afterMs, undefined, { ref: false })
  await pools[Symbol.asyncDispose]().catch(() => undefined)
}
