import { PORT_USUAL } from '../deployment/plan.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { freePort } from '../process/free-port.ts'
import { isRunning } from '../process/process-identity.ts'
import type { Finding } from './finding.ts'

/** The ports gateways serve at, or would. Those of MariaDB and NATS are private, and change when they are taken. */
export async function examinePorts(state: DeploymentState | undefined): Promise<Finding[]> {
  const gateways = state?.gateways ?? [{ name: 'the first gateway', port: PORT_USUAL }]
  return Promise.all(gateways.map(({ name, port }) => examinePort(name, port, state)))
}

async function examinePort(
  name: string,
  port: number,
  state: DeploymentState | undefined,
): Promise<Finding> {
  const identity = state?.processes[name]
  if (identity !== undefined && isRunning(identity))
    return { is: 'ok', what: `port ${port}: ${name}` }
  if ((await freePort(port)) === port) return { is: 'ok', what: `port ${port}: free for ${name}` }
  return { is: 'note', what: `port ${port}: taken; ./weir up finds another one for ${name}` }
}
