import { request } from 'undici'
import { Failure } from '#common/errors.ts'
import { waitFor } from '#common/wait-for.ts'
import type { Kind, Part } from './part.ts'
import { runningCode } from './running-code.ts'
import { beginRestart, type UnitState, unitState } from './systemd.ts'

const READY_LIMIT_MS = 120_000
const PROBE_LIMIT_MS = 2_000

/** A program that a unit of systemd runs. It always runs the release that is in the folder of the unit. */
export class UnitPart implements Part {
  readonly name: string
  readonly kind: Kind
  /** Of a gateway. */
  readonly #origin: string | undefined
  #state: UnitState

  /** `origin`: where a gateway answers; undefined for others. */
  constructor(unit: string, kind: Kind, state: UnitState, origin: string | undefined) {
    this.name = unit.replace(/\.service$/, '')
    this.kind = kind
    this.#state = state
    this.#origin = origin
  }

  code() {
    const { pid } = this.#state
    return pid === 0 ? undefined : runningCode(pid)
  }

  async replace(): Promise<void> {
    await beginRestart(this.name)
    const begun = await waitFor(
      `${this.name} to be active`,
      async () => {
        this.#state = await unitState(this.name)
        const { active, isChanging, restarts } = this.#state
        if (restarts > 0) return 'ended'
        return active === 'active' && !isChanging && 'active'
      },
      READY_LIMIT_MS,
    )
    if (begun === 'ended') throw this.#ended()
    const origin = this.#origin
    if (origin === undefined) return
    await waitFor(`${origin}/readyz to answer 200`, () => answersReady(origin), READY_LIMIT_MS)
  }

  async assertRuns(): Promise<void> {
    const { pid } = this.#state
    this.#state = await unitState(this.name)
    if (this.#state.active !== 'active' || this.#state.pid !== pid) throw this.#ended()
  }

  async putBack(): Promise<boolean> {
    this.#state = await unitState(this.name)
    return false
  }

  #ended(): Failure {
    return new Failure(
      'unavailable',
      `${this.name} ended by itself. Read why: journalctl -u ${this.name}`,
    )
  }
}

async function answersReady(origin: string): Promise<boolean> {
  const { statusCode, body } = await request(`${origin}/readyz`, {
    headersTimeout: PROBE_LIMIT_MS,
  })
  await body.dump()
  return statusCode === 200
}
