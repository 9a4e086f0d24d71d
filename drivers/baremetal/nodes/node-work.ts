import { setTimeout as sleep } from 'node:timers/promises'
import type { BaremetalHost } from '../host.ts'
import type { Node } from './node.ts'
import { provideNode } from './provide-node.ts'

/** A BMC that is silent may be back by then. */
const TRY_AGAIN_MS = 20_000

interface Running {
  readonly abort: AbortController
  readonly done: Promise<void>
}

/** Makes nodes that no server has ready for one, each by itself. Disposing it ends all that is under way. */
export class NodeWork implements AsyncDisposable {
  readonly #host: BaremetalHost
  readonly #running = new Map<string, Running>()

  constructor(host: BaremetalHost) {
    this.#host = host
  }

  /** Afterwards the node is being prepared, if its state needs that. Work in progress continues. */
  begin(node: Node): void {
    if (this.#running.has(node.name)) return
    const abort = new AbortController()
    const running = { abort, done: this.#untilProvided(node, abort.signal) }
    this.#running.set(node.name, running)
    void running.done.finally(() => {
      if (this.#running.get(node.name) === running) this.#running.delete(node.name)
    })
  }

  /** Afterwards no work is under way on the node, and it keeps the state it has reached. */
  async end(name: string): Promise<void> {
    const running = this.#running.get(name)
    running?.abort.abort()
    await running?.done
    this.#running.delete(name)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running.keys()].map((name) => this.end(name)))
  }

  async #untilProvided(node: Node, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (await provideNode(this.#host, node, signal)) return
      await sleep(TRY_AGAIN_MS, undefined, { signal }).catch(() => undefined)
    }
  }
}
