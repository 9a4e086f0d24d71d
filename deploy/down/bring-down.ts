import type { Layout } from '../deployment/layout.ts'
import { loadState, saveState } from '../deployment/state.ts'
import { stopHosts } from '../hypervisors/stop-hosts.ts'
import { isMariadbAtWork, stopMariadb } from '../mariadb.ts'
import { runningNats, stopNats } from '../nats.ts'
import { stopNetwork } from '../ovn/deployment-network.ts'
import { isRunning } from '../process/process-identity.ts'
import { stopProcess } from '../process/stop-process.ts'
import { processStates } from '../status/process-states.ts'
import { endSupervision } from '../supervisor/supervision.ts'

const GRACE_MS = 15_000

/**
 * The order in which processes are stopped, so that none waits for one that is gone: gateways, then cells, then
 * computes.
 */
const ORDER = ['gateway-', 'cell-', 'compute-']

/** Afterwards no process of the deployment runs; everything it stored is kept. True when anything ran. */
export async function bringDown(
  layout: Layout,
  progress: (line: string) => void,
): Promise<boolean> {
  await endSupervision(layout)
  const state = loadState(layout)
  const states = state === undefined ? [] : await processStates(layout, state)
  // An `up` that was killed early has left these and no state.
  const isServed = isMariadbAtWork(layout.mariadb) || runningNats(layout.nats) !== undefined
  const ran = isServed || states.some(({ pid }) => pid !== undefined)
  const running = Object.entries(state?.processes ?? {}).filter(([, each]) => isRunning(each))
  for (const prefix of ORDER) {
    const group = running.filter(([name]) => name.startsWith(prefix))
    if (group.length > 0) progress(`Stopping ${group.map(([name]) => name).join(', ')} ...`)
    await Promise.all(group.map(([, identity]) => stopProcess(identity, GRACE_MS)))
  }
  if (state !== undefined) {
    await stopHosts(layout, state)
    await stopNetwork(layout, state)
  }
  await Promise.all([stopMariadb(layout.mariadb), stopNats(layout.nats)])
  if (state !== undefined) saveState(layout, { ...state, processes: {} })
  return ran
}
