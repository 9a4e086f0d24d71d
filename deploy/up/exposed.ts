import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { Failure } from '#common/errors.ts'
import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState, GatewayRecord } from '../deployment/state.ts'
import { makeSelfSigned } from '../machine/self-signed.ts'
import { freePort } from '../process/free-port.ts'
import { isRunning } from '../process/process-identity.ts'

/** Afterwards there is a self-signed certificate for this address, made once: joining machines recognize it by its key. */
export async function keepCertificate(layout: Layout, address: string): Promise<void> {
  if (isIP(address) === 0)
    throw new Failure(
      'invalid',
      `--address ${address} is not an IP address. Give one of this machine.`,
    )
  const { certificateFile, certificateKeyFile: keyFile } = layout
  if (!existsSync(certificateFile))
    await makeSelfSigned({ certificateFile, keyFile }, [
      `IP:${address}`,
      'IP:127.0.0.1',
      'DNS:localhost',
    ])
}

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
      `Port ${port} is in use. Choose another one, or omit --port and Weir finds a free one.`,
    )
}

async function freePortFrom(first: number, taken: ReadonlySet<number>): Promise<number> {
  const last = Math.min(first + NEIGHBOURS_MAX, 65_535)
  for (let port = first; port <= last; port += 1)
    if (!taken.has(port) && (await freePort(port)) === port) return port
  return freePort()
}

/** Where clients reach a deployment: its first gateway, or that of the deployment elsewhere. */
export function endpointOf(state: DeploymentState): string {
  const [endpoint] = endpointsOf(state)
  if (endpoint === undefined) throw new Error('A deployment has at least one gateway')
  return endpoint
}

/** Of all gateways that the deployment knows. */
export function endpointsOf(state: DeploymentState): readonly string[] {
  const elsewhere = state.joined ?? state.host
  if (elsewhere !== undefined) return [elsewhere.gatewayUrl]
  return state.gateways.map(({ port }) => `http://127.0.0.1:${port}`)
}
