import { request } from 'undici'
import { Failure } from '#common/errors.ts'
import { waitFor } from '#common/wait-for.ts'
import { callApi, type Session } from '../api/session.ts'
import type { Layout } from '../deployment/layout.ts'
import { type DeploymentState, launchedCells } from '../deployment/state.ts'
import { freePort } from '../process/free-port.ts'
import { listensOn } from '../process/listens-on.ts'
import { isRunning } from '../process/process-identity.ts'
import { logTail } from '../process/start-process.ts'
import { logFile } from '../processes/program.ts'

/** More than the minute after which a host repeats a report that no cell received. */
const READY_LIMIT_MS = 90_000
const PROBE_LIMIT_MS = 2_000

/** Something else took a gateway's port between the choice of the port and the gateway's start. */
export class PortTaken extends Failure {
  constructor(port: number, gateway: string) {
    super(
      'conflict',
      `Another program took port ${port} before ${gateway} could. Run ./weir up again: it uses the next free port.`,
    )
  }
}

/**
 * Afterwards every gateway answers that it is ready. Throws `PortTaken` when something else took a gateway's port while
 * it started, and with the end of a program's log when one ended otherwise.
 */
export async function waitForGateways(layout: Layout, state: DeploymentState): Promise<void> {
  for (const { name, port } of state.gateways) {
    const serves = () => listensOn(state.processes[name]?.pid, port)
    const isReady = async () => serves() && (await saysReady(port))
    await untilReady(layout, state, `${name} to be ready`, isReady).catch(
      async (error: unknown) => {
        if (serves() || (await freePort(port)) === port) throw error
        throw new PortTaken(port, name)
      },
    )
  }
}

/** Whether a gateway answers at this port; it may belong to another deployment. */
async function saysReady(port: number): Promise<boolean> {
  const { statusCode, body } = await request(`http://127.0.0.1:${port}/readyz`, {
    headersTimeout: PROBE_LIMIT_MS,
  })
  await body.dump()
  return statusCode === 200
}

/**
 * Afterwards every cell that the launcher starts answers, and the API shows every host that it starts as up: other clouds
 * may be away.
 */
export async function waitForHosts(
  layout: Layout,
  state: DeploymentState,
  admin: Session,
): Promise<void> {
  for (const { name } of launchedCells(state)) await waitForCell(layout, state, admin, name)
  await waitForHostsNamed(
    layout,
    state,
    admin,
    launchedCells(state).flatMap(({ hosts }) => hosts.map(({ name }) => name)),
  )
}

/** Of a cell that was started again the API shows what it said before, so it is asked. */
async function waitForCell(
  layout: Layout,
  state: DeploymentState,
  admin: Session,
  name: string,
): Promise<void> {
  await untilReady(layout, state, `cell ${name} to answer`, async () => {
    await callApi(admin, { method: 'GET', path: `/federation/v1/cells/${name}/orphans` })
    return true
  })
}

/** Afterwards the API shows these hosts as up. */
export async function waitForHostsNamed(
  layout: Layout,
  state: DeploymentState,
  admin: Session,
  wanted: readonly string[],
): Promise<void> {
  await untilReady(layout, state, `hosts ${wanted.join(', ')} to be up`, async () => {
    const { services } = await callApi<{ services: readonly ServiceAnswer[] }>(admin, {
      method: 'GET',
      path: '/compute/v2.1/os-services?binary=nova-compute',
    })
    const up = new Set(services.filter((each) => each.state === 'up').map(({ host }) => host))
    return wanted.every((name) => up.has(name))
  })
}

interface ServiceAnswer {
  readonly host: string
  readonly state: string
}

/**
 * Waits until the probe is true. A program that has ended will not become ready, so its log is shown at once instead of
 * a time-out later. Throws `unavailable` with the end of its log.
 */
export async function untilReady(
  layout: Layout,
  state: DeploymentState,
  what: string,
  probe: () => Promise<boolean>,
): Promise<void> {
  const ended = () => Object.entries(state.processes).find(([, identity]) => !isRunning(identity))
  const seen = await waitFor(what, async () => ended()?.[0] ?? (await probe()), READY_LIMIT_MS)
  if (typeof seen !== 'string') return
  throw new Failure(
    'unavailable',
    `${seen} ended while starting. The end of its log (./weir logs ${seen}):\n${logTail(logFile(layout, seen))}`,
  )
}
