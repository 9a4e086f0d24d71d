import { findHosts } from '#cells/db/hosts.ts'
import { Failure } from '#common/errors.ts'
import { readRelease } from '#common/release.ts'
import type { components } from '#openapi/federation.gen.ts'
import { callApi, type Session } from '../api/session.ts'
import type { Layout } from '../deployment/layout.ts'
import { existingState, saveState } from '../deployment/state.ts'
import { waitForCell } from '../join/start-cell.ts'
import { runningNats } from '../nats.ts'
import { isRunning } from '../process/process-identity.ts'
import { logTail } from '../process/start-process.ts'
import { stopProcess } from '../process/stop-process.ts'
import { logFile, type Program, settingsDigest, startProgram } from '../processes/program.ts'
import { issueCellCredentials } from '../up/prepare-bus.ts'
import { cellDatabase } from '../up/prepare-databases.ts'
import { untilReady, waitForGateways } from '../up/wait-ready.ts'
import { openDatabase } from '../upkeep/open-database.ts'
import { type FormerProcess, formerProcess, startFormer } from './former-process.ts'
import { KINDS, type Kind, type Part } from './part.ts'
import { runningCode } from './running-code.ts'

const GRACE_MS = 15_000

/** A process of a deployment of `./weir up`. */
export class DeploymentPart implements Part {
  readonly name: string
  readonly kind: Kind
  readonly #layout: Layout
  readonly #program: Program
  readonly #admin: Session | undefined
  #former: FormerProcess | undefined

  /** `admin`: undefined where there are no gateways. */
  constructor(layout: Layout, program: Program, admin: Session | undefined) {
    this.name = program.name
    this.kind = kindOf(program.name)
    this.#layout = layout
    this.#program = program
    this.#admin = admin
  }

  code() {
    const identity = this.#identity()
    return identity && isRunning(identity) ? runningCode(identity.pid) : undefined
  }

  async replace(): Promise<void> {
    const identity = this.#identity()
    this.#former = identity && formerProcess(identity)
    const startedAt = Date.now()
    if (identity !== undefined) await stopProcess(identity, GRACE_MS)
    await startProgram(this.#layout, this.#program, (started) =>
      this.#record({ ...started, settingsDigest: settingsDigest(this.#program) }),
    )
    await this.#untilReady(startedAt)
  }

  async assertRuns(): Promise<void> {
    const identity = this.#identity()
    if (identity !== undefined && isRunning(identity)) return
    const log = logTail(logFile(this.#layout, this.name))
    throw new Failure('unavailable', `${this.name} has ended. The end of its log:\n${log}`)
  }

  async putBack(): Promise<boolean> {
    const former = this.#former
    if (former === undefined) return false
    const identity = this.#identity()
    if (identity !== undefined) await stopProcess(identity, GRACE_MS)
    const options = { logFile: logFile(this.#layout, this.name) }
    await startFormer(former, options, (started) =>
      this.#record({ ...started, settingsDigest: former.settingsDigest }),
    )
    await this.#untilServes()
    return true
  }

  async #untilReady(startedAt: number): Promise<void> {
    if (this.kind === 'gateway') await this.#untilServes()
    else if (this.kind === 'cell') await this.#untilHeard(startedAt)
    else await this.#untilReported(startedAt)
  }

  /** Resolves once a gateway is ready; at once for others. */
  async #untilServes(): Promise<void> {
    const state = existingState(this.#layout)
    const own = state.gateways.filter(({ name }) => name === this.name)
    await waitForGateways(this.#layout, this.#alone({ ...state, gateways: own }))
  }

  /** Resolves once the gateways, or the hosts here, have heard the cell, of this release. */
  async #untilHeard(startedAt: number): Promise<void> {
    const state = existingState(this.#layout)
    const cell = state.cells.find(({ name }) => `cell-${name}` === this.name)
    if (cell === undefined) throw new Error(`The deployment has no ${this.name}`)
    const admin = this.#admin
    if (admin === undefined) {
      const nats = runningNats(this.#layout.nats)
      const credentialsFile = (await issueCellCredentials(this.#layout, state)).get(cell.id)
      if (nats === undefined || credentialsFile === undefined)
        throw new Failure('unavailable', 'NATS does not run. Start it: ./weir up')
      await waitForCell(this.#layout, this.#alone(state), { cell, nats, credentialsFile })
      return
    }
    await untilReady(
      this.#layout,
      this.#alone(state),
      `the gateways to hear cell ${cell.name}`,
      async () => {
        const { cells } = await callApi<{ cells: readonly components['schemas']['Cell'][] }>(
          admin,
          { method: 'GET', path: '/federation/v1/cells' },
        )
        const shown = cells.find(({ id }) => id === cell.id)
        const heardAt = Date.parse(shown?.last_heard_at ?? '')
        const { release } = shown?.summary ?? {}
        return shown?.is_reachable === true && heardAt > startedAt && release === readRelease()
      },
    )
  }

  /** Resolves once the cell has the report of a compute that was started later. One whose cell is elsewhere is not waited for. */
  async #untilReported(startedAt: number): Promise<void> {
    const state = existingState(this.#layout)
    const isOwn = ({ name }: { readonly name: string }) => `compute-${name}` === this.name
    const cell = state.cells.find(({ hosts }) => hosts.some(isOwn))
    const host = cell?.hosts.find(isOwn)
    if (cell === undefined || host === undefined) return
    await using db = openDatabase(this.#layout, cellDatabase(cell.name))
    await untilReady(this.#layout, this.#alone(state), `${host.name} to be up`, async () => {
      const [known] = await findHosts(db, [host.id])
      return known?.isUp === true && known.startedAt >= startedAt
    })
  }

  #identity() {
    return existingState(this.#layout).processes[this.name]
  }

  /** Its own end, and no other, ends the wait for it. */
  #alone(state: ReturnType<typeof existingState>) {
    const own = state.processes[this.name]
    return { ...state, processes: own === undefined ? {} : { [this.name]: own } }
  }

  #record(started: ReturnType<typeof existingState>['processes'][string]): void {
    const state = existingState(this.#layout)
    saveState(this.#layout, { ...state, processes: { ...state.processes, [this.name]: started } })
  }
}

function kindOf(name: string): Kind {
  const kind = KINDS.find((each) => name.startsWith(`${each}-`))
  if (kind === undefined) throw new Error(`${name} is none of ${KINDS.join(', ')}`)
  return kind
}
