import { Failure, isFailure } from '#common/errors.ts'
import { notSwitched, type Power, waitForPower } from '../machine-power.ts'
import { type RunResult, run } from '../run.ts'
import { problemsOf, readMetadata } from './agent-metadata.ts'

/** A program of the Linux clusters that powers one machine off. */
export interface FenceAgentSettings {
  /** As its program is called: `fence_` and more. */
  readonly name: string
  /** The path of its program. */
  readonly program: string
  readonly parameters: Readonly<Record<string, string>>
  /** Parameters that are shown to nobody. */
  readonly secrets: Readonly<Record<string, string>>
}

/** Agents power a machine off within 20 s by default, and say whether they have. Some then say for a moment that it is on. */
const LIMITS = { offMs: 90_000, askMs: 60_000, settleMs: 20_000 } as const
/** FenceAgentAPI.md: what an agent ends with for the action `status`. */
const ON = 0
const OFF = 2
const SHOWN_MAX = 200
const CENSOR = '***'

/** Of one machine. Methods throw `unavailable` with what the agent said, and `unsupported` where it is not installed. */
export class FenceAgent implements Pick<Power, 'isOn' | 'off'> {
  readonly #settings: FenceAgentSettings
  readonly #limits: Readonly<Record<keyof typeof LIMITS, number>>

  constructor(
    settings: FenceAgentSettings,
    limits: Partial<Record<keyof typeof LIMITS, number>> = {},
  ) {
    this.#settings = settings
    this.#limits = { ...LIMITS, ...limits }
  }

  async isOn(signal: AbortSignal): Promise<boolean> {
    const { code, stdout } = await this.#run('status', { timeoutMs: this.#limits.askMs, signal }, [
      ON,
      OFF,
    ])
    // Programs that fail for another reason end with 2, too.
    const said = /^Status: (ON|OFF)\s*$/m.exec(stdout)?.[1]
    if (said === (code === ON ? 'ON' : 'OFF')) return code === ON
    throw this.#failed(`It does not say whether the machine is on: exit ${code}`)
  }

  /** Afterwards the agent has powered the machine off, and said when it was asked again that it is off. */
  async off(signal: AbortSignal): Promise<void> {
    await this.#run('off', { timeoutMs: this.#limits.offMs, signal })
    if (!(await waitForPower(this, false, this.#limits.settleMs, signal))) throw notSwitched(false)
  }

  /** Why it can fence nothing as it is set, without asking the machine; null: nothing is known to be wrong. */
  async problem(signal: AbortSignal): Promise<string | null> {
    const { parameters, secrets } = this.#settings
    try {
      const { stdout } = await this.#run('metadata', { timeoutMs: this.#limits.askMs, signal })
      const metadata = readMetadata(stdout)
      const given = new Set([...Object.keys(parameters), ...Object.keys(secrets)])
      const problems = problemsOf(metadata, given)
      if (problems.length > 0) return problems.join(' ')
      if (metadata.actions.has('validate-all'))
        await this.#run('validate-all', { timeoutMs: this.#limits.askMs, signal })
      return null
    } catch (error) {
      signal.throwIfAborted()
      if (!isFailure(error)) throw error
      return error.message
    }
  }

  async #run(
    action: 'metadata' | 'off' | 'status' | 'validate-all',
    limits: { readonly timeoutMs: number; readonly signal: AbortSignal },
    codes: readonly number[] = [0],
  ): Promise<RunResult> {
    const { program, parameters, secrets } = this.#settings
    const asked = action === 'metadata' ? {} : { ...parameters, ...secrets }
    const lines = Object.entries({ ...asked, action }).map(([key, value]) => `${key}=${value}\n`)
    try {
      const result = await run(program, [], { ...limits, input: lines.join(''), codes: 'any' })
      if (codes.includes(result.code)) return result
      throw this.#failed(this.#shown(result.stderr))
    } catch (error) {
      limits.signal.throwIfAborted()
      throw this.#failureOf(error, limits.timeoutMs)
    }
  }

  /** Without its cause: what a program says may have secrets in it. */
  #failureOf(error: unknown, timeoutMs: number): unknown {
    const { name } = this.#settings
    if (isFailure(error, 'unsupported'))
      return new Failure('unsupported', `${name} is not installed.`)
    if (isFailure(error, 'internal')) return this.#failed('It was ended, or could not be started')
    const isLate = isFailure(error, 'unavailable') && error.detail !== undefined
    return isLate ? this.#failed(`It did not end within ${timeoutMs / 1_000} s`) : error
  }

  #failed(why: string): Failure {
    return new Failure('unavailable', `${why}.`)
  }

  /** The errors of what a program wrote, or else its last line, without secrets. */
  #shown(output: string): string {
    const lines = output.split('\n').map((line) => line.trim())
    const errors = lines.flatMap((line) => errorIn(line) ?? [])
    const told = errors.filter((line) => !NO_REASONS.some((each) => line.startsWith(each)))
    const said = told.length > 0 ? told.join(' ') : (lines.findLast((line) => line !== '') ?? '')
    const secrets = Object.values(this.#settings.secrets)
    const safe = secrets.reduce((text, secret) => text.replaceAll(secret, CENSOR), said)
    return withoutEnd(safe.slice(0, SHOWN_MAX)) || 'It failed without a word'
  }
}

/** What the line tells of an error; undefined: it tells of none. */
function errorIn(line: string): string | undefined {
  for (const level of [' ERROR: ', ' CRITICAL: ']) {
    const at = line.indexOf(level)
    if (at === -1) continue
    const told = line.slice(at + level.length)
    return told.startsWith(FAILED) ? told.slice(FAILED.length) : told
  }
  return undefined
}

/** The text without the full stops and spaces at its end. */
function withoutEnd(text: string): string {
  let end = text.length
  while (end > 0 && (text[end - 1] === '.' || text[end - 1]!.trim() === '')) end -= 1
  return text.slice(0, end)
}

const FAILED = 'Failed: '

/** What agents say after each error. */
const NO_REASONS = ["Please use '-h'", 'validate-all failed']
