import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Logger } from '../log.ts'
import type { Json } from '../saga/saga.ts'

/** How it went with a task that was tried in an isolated process. */
export type IsolatedEnd =
  | { readonly kind: 'ended'; readonly answer: Json }
  /** It ended the process that was tried with it alone, or held it up for good. */
  | { readonly kind: 'guilty'; readonly why: string }
  /** The end of the process says nothing about this task: the process could not be started, or was ended from outside. */
  | { readonly kind: 'left' }

export interface IsolatedOptions {
  /** The program, which calls `serveIsolated`. It gets the environment of this process. */
  readonly program: URL
  readonly log: Logger
  /** A process whose loop has not turned for so many seconds is held up; absent: 30. */
  readonly heldUpAfterS?: number
  /** Of an isolated process; absent: 1024. */
  readonly memoryMaxMb?: number
}

export interface IsolatedTask {
  readonly task: Json
  readonly end: (end: IsolatedEnd) => void
}

/** To an isolated process. */
export interface TaskMessage {
  readonly nth: number
  readonly task: Json
}

/** From an isolated process. */
export type IsolatedMessage =
  /** It can be given tasks. */
  | { readonly kind: 'ready' }
  /** Its loop turns. */
  | { readonly kind: 'beat' }
  | { readonly kind: 'ended'; readonly nth: number; readonly answer: Json }
  /** A service that the task needs failed: the task can be tried again. */
  | { readonly kind: 'failed'; readonly nth: number }
  /** An exception escaped from this task, and ends the process. */
  | { readonly kind: 'guilty'; readonly nth: number; readonly why: string }

const CHECK_MS = 1_000
const HELD_UP_AFTER_S = 30
/** A machine that is busy takes its time to begin a program. */
const BEGIN_MAX_S = 120
const MEMORY_MAX_MB = 1_024
/** Of the limit: buffers are not in the heap. */
const HEAP_SHARE = 0.5
const STOP_MAX_MS = 5_000
/** Signals with which the machine, a service manager or an operator ends a process; they are not the fault of its work. */
const FROM_OTHERS: readonly string[] = ['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT']

/** One isolated process and what it was given, until it has ended. */
export class IsolatedProcess implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #tasks = new Map<number, IsolatedTask>()
  readonly #exited: Promise<void>
  readonly #checking: NodeJS.Timeout
  readonly #options: IsolatedOptions
  #isReady = false
  #isEnding = false
  /**
   * Checks since the process last answered. They are counted in turns of this process's event loop, so that a pause
   * of this process does not count as silence of the other.
   */
  #silentFor = 0
  #why: string | undefined
  givenCount = 0

  /**
   * `ended` is called with the tasks left, and with the reason where the process ended by itself; without one where
   * the end says nothing of its tasks.
   */
  constructor(
    options: IsolatedOptions,
    tasks: readonly IsolatedTask[],
    ended: (left: readonly IsolatedTask[], why: string | undefined) => void,
  ) {
    this.#options = options
    const memoryMaxMb = options.memoryMaxMb ?? MEMORY_MAX_MB
    const heap = `--max-old-space-size=${Math.floor(memoryMaxMb * HEAP_SHARE)}`
    this.#child = fork(fileURLToPath(options.program), [String(memoryMaxMb)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      execArgv: [...process.execArgv, heap],
    })
    for (const task of tasks) this.take(task)
    this.#checking = setInterval(() => this.#check(), CHECK_MS)
    this.#child.on('message', (message) => this.#receive(message as IsolatedMessage))
    this.#exited = new Promise((resolve) => {
      const over = (why: string | undefined) => {
        clearInterval(this.#checking)
        const left = [...this.#tasks.values()]
        this.#tasks.clear()
        ended(left, this.#isReady && !this.#isEnding ? why : undefined)
        resolve()
      }
      this.#child.once('error', (error) => {
        options.log.warn({ error: error.message }, 'isolated process did not start')
        if (this.#child.pid === undefined) over(undefined)
      })
      this.#child.once('exit', (code, signal) => {
        const why = this.#why ?? reasonOf(code, signal)
        // The last output of the process may not have arrived yet.
        if (this.#child.connected) this.#child.once('disconnect', () => over(why))
        else over(why)
      })
    })
  }

  /** False when it takes no more tasks. */
  take(given: IsolatedTask): boolean {
    if (this.#isEnding || this.#why !== undefined || this.#child.exitCode !== null) return false
    const nth = this.givenCount
    this.givenCount += 1
    this.#tasks.set(nth, given)
    if (this.#isReady) this.#send(nth, given)
    return true
  }

  /** Afterwards it has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end()
    await this.#exited
  }

  #end(): void {
    this.#isEnding = true
    if (this.#child.connected) this.#child.disconnect()
    const kill = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MAX_MS)
    void this.#exited.finally(() => clearTimeout(kill))
  }

  #send(nth: number, { task }: IsolatedTask): void {
    const message: TaskMessage = { nth, task }
    // The end of a process reports its tasks.
    if (this.#child.connected) this.#child.send(message, () => undefined)
  }

  #receive(message: IsolatedMessage): void {
    this.#silentFor = 0
    if (message.kind === 'beat') return
    if (message.kind === 'ready') {
      this.#isReady = true
      this.#options.log.info(
        { pid: this.#child.pid, tasks: this.#tasks.size },
        'isolated tasks started',
      )
      for (const [nth, given] of this.#tasks) this.#send(nth, given)
      return
    }
    const { nth, ...end } = message
    const given = this.#tasks.get(nth)
    this.#tasks.delete(nth)
    given?.end(end.kind === 'failed' ? { kind: 'left' } : end)
    if (this.#tasks.size === 0 && end.kind !== 'guilty') this.#end()
  }

  #check(): void {
    this.#silentFor += 1
    const { heldUpAfterS = HELD_UP_AFTER_S } = this.#options
    if (this.#silentFor <= (this.#isReady ? heldUpAfterS : BEGIN_MAX_S)) return
    this.#why ??= `It held up its process for ${heldUpAfterS} seconds.`
    this.#child.kill('SIGKILL')
  }
}

/** Undefined for what others end a process with. */
function reasonOf(code: number | null, signal: string | null): string | undefined {
  if (signal !== null && FROM_OTHERS.includes(signal)) return undefined
  if (signal === 'SIGABRT') return 'Its process ran out of memory, or aborted.'
  return signal === null
    ? `It ended its process with code ${code}.`
    : `It ended its process with ${signal}.`
}
