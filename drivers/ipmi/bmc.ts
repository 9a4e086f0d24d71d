import { isFailure } from '#common/errors.ts'
import { abortable } from '../abortable.ts'
import type { BmcSettings } from './bmc-settings.ts'
import { CIPHER_SUITE_IDS } from './cipher-suites.ts'
import type { Command } from './message.ts'
import { isNoAnswer, Session } from './session.ts'

/** A BMC forgets a session that is silent for a minute (IPMI 2.0, 6.12.15). */
const IDLE_MS = 20_000
const OPEN_MS = 30_000

/**
 * A BMC. Its session is opened by the first command, used by all, opened again when the BMC has forgotten it, and
 * closed when it is idle: a BMC has room for some four.
 */
export class Bmc implements AsyncDisposable {
  readonly #settings: BmcSettings
  #session: Promise<Session> | undefined
  #idle: NodeJS.Timeout | undefined
  #busy = 0

  constructor(settings: BmcSettings) {
    this.#settings = settings
  }

  /**
   * The BMC's answer. The BMC may carry a command out twice. Throws `BmcRefusal` when it refuses, `unavailable` when it
   * does not answer or refuses the login.
   */
  async command(command: Command, signal: AbortSignal): Promise<Buffer> {
    signal.throwIfAborted()
    clearTimeout(this.#idle)
    this.#busy += 1
    try {
      const wasOpen = this.#session !== undefined
      try {
        return await this.#send(command, signal)
      } catch (error) {
        if (!wasOpen || !isNoAnswer(error)) throw error
        return await this.#send(command, signal)
      }
    } finally {
      this.#busy -= 1
      if (this.#busy === 0) this.#closeWhenIdle()
    }
  }

  /** A session for one use alone. The caller disposes it. */
  async openSession(signal: AbortSignal): Promise<Session> {
    const { cipherSuite } = this.#settings
    if (cipherSuite !== undefined) return Session.open(this.#settings, cipherSuite, signal)
    const [strongest, other] = CIPHER_SUITE_IDS
    try {
      return await Session.open(this.#settings, strongest, signal)
    } catch (error) {
      if (!isFailure(error, 'unsupported')) throw error
      return Session.open(this.#settings, other, signal)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#idle)
    await this.#close()
  }

  async #send(command: Command, signal: AbortSignal): Promise<Buffer> {
    // Opened for all who wait, so with no one's signal.
    const opening = (this.#session ??= this.openSession(AbortSignal.timeout(OPEN_MS)))
    try {
      const session = await abortable(opening, signal)
      return await session.command(command, signal)
    } catch (error) {
      signal.throwIfAborted()
      const isLost = isNoAnswer(error) || isFailure(error, 'unsupported')
      if (isLost && this.#session === opening) await this.#close()
      throw error
    }
  }

  #closeWhenIdle(): void {
    this.#idle = setTimeout(() => void this.#close(), IDLE_MS)
    this.#idle.unref()
  }

  async #close(): Promise<void> {
    const closing = this.#session
    this.#session = undefined
    const session = await closing?.catch(() => undefined)
    await session?.[Symbol.asyncDispose]()
  }
}
