import { Failure, isFailure } from '#common/errors.ts'
import { type RunResult, run } from '../run.ts'
import { attribute, type Element, parsed, textOf, within } from './agent-xml.ts'

/** A node of the Pacemaker cluster that this machine is a member of. */
export interface PacemakerSettings {
  /** As the cluster calls it. */
  readonly node: string
  /** The path of `stonith_admin`. */
  readonly program: string
}

/** What the cluster may take, with all the devices that it tries. */
const FENCE_S = 120
const ASK_S = 20
/** Until the program has ended after its own time is up. */
const MORE_MS = 5_000
const SHOWN_MAX = 200

/** Has the cluster fence one of its nodes, by the devices that the cluster has for it. Methods throw `unavailable` with what it said. */
export class Pacemaker {
  readonly #settings: PacemakerSettings

  constructor(settings: PacemakerSettings) {
    this.#settings = settings
  }

  /** Afterwards the cluster has powered the node off, and its history says so. */
  async off(signal: AbortSignal): Promise<void> {
    const { node } = this.#settings
    const before = await this.#newestFencing(signal)
    await this.#ask(['--fence', node, '--timeout', String(FENCE_S)], FENCE_S, signal)
    const newest = await this.#newestFencing(signal)
    const isNew = newest !== undefined && idOf(newest) !== (before && idOf(before))
    if (isNew && attribute(newest, 'action') === 'off' && attribute(newest, 'status') === 'success')
      return
    throw new Failure(
      'unavailable',
      `The history of the cluster has no success in powering ${node} off.`,
    )
  }

  /** Why it can fence nothing as it is set; null: nothing is known to be wrong. */
  async problem(signal: AbortSignal): Promise<string | null> {
    const { node } = this.#settings
    try {
      const devices = within(await this.#ask(['--list', node], ASK_S, signal), 'list', 'item')
      return devices.length > 0 ? null : `The cluster has no fence device for a node ${node}.`
    } catch (error) {
      signal.throwIfAborted()
      if (!isFailure(error)) throw error
      return error.message
    }
  }

  /** Of the node, whether it succeeded or not. */
  async #newestFencing(signal: AbortSignal): Promise<Element | undefined> {
    const { node } = this.#settings
    const answer = await this.#ask(['--history', node, '--verbose'], ASK_S, signal)
    return within(answer, 'list', 'fence_event').find((each) => attribute(each, 'target') === node)
  }

  /** What the cluster answered. */
  async #ask(
    args: readonly string[],
    limitS: number,
    signal: AbortSignal,
  ): Promise<readonly Element[]> {
    const result = await this.#run([...args, '--output-as', 'xml'], limitS, signal)
    const answer = within([parsed(result.stdout)], 'pacemaker-result')
    if (result.code === 0 && answer.length === 1) return answer
    const said = textOf(within(answer, 'status', 'errors', 'error')[0])
    const why = said.replace(/^stonith_admin: /, '').slice(0, SHOWN_MAX)
    throw new Failure('unavailable', `${why || `It failed: exit ${result.code}`}.`)
  }

  async #run(args: readonly string[], limitS: number, signal: AbortSignal): Promise<RunResult> {
    const timeoutMs = 1_000 * limitS + MORE_MS
    try {
      return await run(this.#settings.program, args, { timeoutMs, signal, codes: 'any' })
    } catch (error) {
      signal.throwIfAborted()
      if (isFailure(error, 'unsupported'))
        throw new Failure('unsupported', 'stonith_admin is not installed.')
      throw new Failure('unavailable', 'The cluster did not answer.', { cause: error })
    }
  }
}

/** The cluster gives no other. */
function idOf(fencing: Element): string {
  return ['client', 'origin', 'completed'].map((name) => attribute(fencing, name)).join(' ')
}
