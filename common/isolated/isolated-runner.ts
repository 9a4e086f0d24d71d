import type { Json } from '../saga/saga.ts'
import {
  type IsolatedEnd,
  type IsolatedOptions,
  IsolatedProcess,
  type IsolatedTask,
} from './isolated-process.ts'

/** Tasks that run at the same time. The others wait, so that trials leave memory for everything else. */
const PROCESSES_MAX = 4

/**
 * Tries tasks that may have ended a process in processes of their own, so that one which throws an exception that is not caught,
 * exits, loops for ever or takes all memory ends no other process. Tasks are tried together; where their process ends by
 * itself, in halves, until the one that ends it is alone. A process lives as long as it has tasks.
 */
export class IsolatedRunner implements AsyncDisposable {
  readonly #options: IsolatedOptions
  readonly #processes = new Set<IsolatedProcess>()
  /** Takes work of all kinds. */
  #common: IsolatedProcess | undefined
  readonly #waiting: (readonly IsolatedTask[])[] = []
  #isStopped = false

  constructor(options: IsolatedOptions) {
    this.#options = options
  }

  /** Never rejects. */
  run(task: Json): Promise<IsolatedEnd> {
    const { promise, resolve } = Promise.withResolvers<IsolatedEnd>()
    const given: IsolatedTask = { task, end: resolve }
    if (this.#isStopped) resolve({ kind: 'left' })
    else if (this.#common?.take(given) !== true) this.#common = this.#begin([given])
    return promise
  }

  /** Ends the processes; what they have not ended is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true
    for (const { end } of this.#waiting.splice(0).flat()) end({ kind: 'left' })
    await Promise.all([...this.#processes].map((each) => each[Symbol.asyncDispose]()))
  }

  #begin(tasks: readonly IsolatedTask[]): IsolatedProcess {
    const child = new IsolatedProcess(this.#options, tasks, (left, why) => {
      this.#processes.delete(child)
      if (this.#common === child) this.#common = undefined
      this.#divide(child, left, why)
      this.#beginWaiting()
    })
    this.#processes.add(child)
    return child
  }

  #divide(child: IsolatedProcess, left: readonly IsolatedTask[], why: string | undefined): void {
    if (left.length === 0) return
    if (why === undefined || this.#isStopped) {
      for (const { end } of left) end({ kind: 'left' })
    } else if (child.givenCount === 1) {
      left[0]!.end({ kind: 'guilty', why })
    } else {
      const half = Math.ceil(left.length / 2)
      this.#waiting.push(left.slice(0, half))
      if (half < left.length) this.#waiting.push(left.slice(half))
    }
  }

  #beginWaiting(): void {
    while (!this.#isStopped && this.#processes.size < PROCESSES_MAX) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      this.#begin(next)
    }
  }
}
