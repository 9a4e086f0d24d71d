import type { WorkContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import {
  CONSOLE_BYTES_MAX,
  type ConsoleAnswer,
  type ConsoleAsk,
  type ConsoleOperation,
} from '#openapi/wire/console.ts'
import type { CellRef } from '../../cell-client/client.ts'
import { deleteConsoleSession, renewConsoleSession } from '../../db/console-sessions.ts'
import type { ConsoleKind, ConsoleSession } from './console-session.ts'
import { type Consoles, mayHaveConsole } from './consoles.ts'

/** How long the host waits for the guest to show something before it answers that there is nothing. */
const WAIT_MS = 3_000
const RENEW_MS = 3_000
/** A question whose answer got lost is asked again; a host that stays silent has lost the console. */
const TRIES_MAX = 3

/** An open console, seen from a gateway: bytes both ways, each way one chunk at a time. */
export class ConsolePipe {
  readonly #consoles: Consoles
  readonly #session: ConsoleSession
  readonly #cell: CellRef
  readonly #work: WorkContext
  #shown = 0
  #typed = 0
  #renewedAt = performance.now()
  #isOver = false

  constructor(consoles: Consoles, session: ConsoleSession, work: WorkContext) {
    this.#consoles = consoles
    this.#session = session
    const { cellId: id } = session.place
    this.#cell = { id, name: consoles.cells.cell(id)?.name ?? id }
    this.#work = work
  }

  get kind(): ConsoleKind {
    return this.#session.place.kind
  }

  async open(): Promise<void> {
    const { serverId, attempt, kind } = this.#session.place
    await this.#ask('console-open', { session: this.#session.id, serverId, attempt, kind })
  }

  /** What was shown next, maybe nothing; undefined once the console has ended, however it did. */
  async read(): Promise<Buffer | undefined> {
    if (this.#isOver || !(await this.#isRenewed())) return undefined
    this.#shown += 1
    const ask = { session: this.#session.id, seq: this.#shown, waitMs: WAIT_MS }
    try {
      const { bytes, isEnded } = await this.#ask('console-read', ask)
      return isEnded ? undefined : Buffer.from(bytes, 'base64')
    } catch (error) {
      if (isFailure(error)) return undefined
      throw error
    }
  }

  /** Resolves when the guest has taken all bytes. Throws when the console has ended. */
  async write(bytes: Buffer): Promise<void> {
    for (let start = 0; start < bytes.length; start += CONSOLE_BYTES_MAX) {
      this.#typed += 1
      const chunk = bytes.subarray(start, start + CONSOLE_BYTES_MAX).toString('base64')
      const ask = { session: this.#session.id, seq: this.#typed, bytes: chunk }
      await this.#ask('console-write', ask)
    }
  }

  /** Afterwards the host has closed the console, or will once it receives no more requests. */
  async close(): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    await this.#ask('console-close', { session: this.#session.id }).catch(ignoreFailure)
    await deleteConsoleSession(this.#consoles.db, this.#session.id).catch(ignoreFailure)
  }

  /** False once the session or the right to it was revoked, or the guest is gone or elsewhere. */
  async #isRenewed(): Promise<boolean> {
    if (performance.now() - this.#renewedAt < RENEW_MS) return true
    this.#renewedAt = performance.now()
    const isThere = await renewConsoleSession(this.#consoles.db, this.#session.id)
    return isThere && mayHaveConsole(this.#consoles, this.#session)
  }

  async #ask<O extends ConsoleOperation>(
    operation: O,
    ask: ConsoleAsk<O>,
    tries = 1,
  ): Promise<ConsoleAnswer<O>> {
    const { askHost } = this.#consoles
    try {
      return await askHost(this.#cell, this.#session.place.hostId, operation, ask, this.#work)
    } catch (error) {
      if (tries >= TRIES_MAX || this.#isOver || !isFailure(error, 'unavailable')) throw error
      return this.#ask(operation, ask, tries + 1)
    }
  }
}

/** A console that a hang-up did not reach ends by itself. */
function ignoreFailure(error: unknown): void {
  if (!isFailure(error)) throw error
}
