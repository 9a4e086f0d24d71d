import { Failure } from '#common/errors.ts'
import type { DeploymentState, GatewayRecord } from '../deployment/state.ts'
import { freePort } from '../process/free-port.ts'
import { isRunning } from '../process/process-identity.ts'

/** Tried one after the other before the kernel chooses: a neighbour's number is easier to remember. */
const NEIGHBOURS_MAX = 50

/**
 * The state with a port of its own for every gateway: a port that something else has taken is exchanged for a free
 * one, and `progress` called. A gateway that runs keeps its port.
 */
export async function withFreePorts(
  state: DeploymentState,
  progress: (line: string) => void,
): Promise<DeploymentState> {
  const gateways: GatewayRecord[] = []
  for (const gateway of state.gateways) {
    const identity = state.processes[gateway.name]
    const { name, port } = gateway
    const own = identity !== undefined && isRunning(identity)
    const free = own ? port : await freePortFrom(port, new Set(gateways.map((each) => each.port)))
    if (free !== port) progress(`Port ${port} is taken: ${name} serves at port ${free}.`)
    gateways.push({ name, port: free })
  }
  return { ...state, gateways }
}

/** Throws `conflict` when a port that was asked for by number is taken. */
export async function assertPortFree(port: number): Promise<void> {
  if ((await freePort(port)) !== port)
    throw new Failure(
      'conflict',
      `Port ${port} is taken. Choose another one, or leave --port out and Weir finds one.`,
    )
}

async function freePortFrom(first: number, taken: ReadonlySet<number>): Promise<number> {
  const last = Math.min(first + NEIGHBOURS_MAX, 65_535)
  for (let port = first; port <= last; port += 1)
    if (!taken.has(port) && (await freePort(port)) === port) return port
  return freePort()
}
