import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Command, Outcome } from './commands.ts'

/** A separate process that sends requests to a gateway, so that the test's own work does not distort its measurements. */
export class Load implements AsyncDisposable {
  readonly #child: ChildProcess = fork(new URL('program.ts', import.meta.url), { stdio: 'inherit' })

  /** Rejects when the process ends before it has an outcome. */
  async carryOut(command: Command): Promise<Outcome> {
    const ended = new AbortController()
    const end = (code: number | null) => ended.abort(new Error(`The load has ended with ${code}`))
    this.#child.once('exit', end)
    try {
      const outcome = once(this.#child, 'message', { signal: ended.signal })
      this.#child.send(command)
      const [answer] = (await outcome) as [Outcome]
      return answer
    } finally {
      this.#child.off('exit', end)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }
}
