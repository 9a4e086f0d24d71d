import { Failure } from '#common/errors.ts'
import { run } from '../run.ts'

const STEP_MS = 10_000

/** The network namespace of a host's switch, where the outer ends of veth pairs are. */
export class HostLinks {
  readonly #namespace: string | undefined

  /** A file below /proc or /run/netns; undefined: the namespace of this process. */
  constructor(namespace: string | undefined) {
    this.#namespace = namespace
  }

  /** Runs a command there. Throws as `run`. */
  async run(signal: AbortSignal, ...command: readonly [string, ...string[]]): Promise<void> {
    const [program, ...args] =
      this.#namespace === undefined
        ? command
        : (['nsenter', `--net=${this.#namespace}`, ...command] as const)
    await run(program, args, { timeoutMs: STEP_MS, signal })
  }

  /** Afterwards there is no interface of this name, nor its other end, wherever that is. */
  async remove(name: string, signal: AbortSignal): Promise<void> {
    await this.run(signal, 'ip', 'link', 'delete', name).catch((error: unknown) => {
      if (!(error instanceof Failure && /Cannot find device/.test(error.detail ?? ''))) throw error
    })
  }
}
