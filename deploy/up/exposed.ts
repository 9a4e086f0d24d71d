import { existsSync, renameSync } from 'node:fs'
import { isIP } from 'node:net'
import { Failure } from '#common/errors.ts'
import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState, GatewayRecord } from '../deployment/state.ts'
import { runTool } from '../packages/run-tool.ts'
import { findProgram } from '../process/find-program.ts'
import { freePort } from '../process/free-port.ts'
import { isRunning } from '../process/process-identity.ts'

const DAYS = 3_650
const LIMIT_MS = 30_000

/** Afterwards there is a self-signed certificate for this address, made once: joining machines recognize it by its key. */
export async function keepCertificate(layout: Layout, address: string): Promise<void> {
  if (isIP(address) === 0)
    throw new Failure(
      'invalid',
      `--address ${address} is not an IP address. Give one of this machine.`,
    )
  const { certificateFile, certificateKeyFile: keyFile } = layout
  if (!existsSync(certificateFile)) await makeCertificate(certificateFile, keyFile, address)
}

async function makeCertificate(file: string, keyFile: string, address: string): Promise<void> {
  const draft = `${file}.new`
  const kind = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
  ]
  const names = `subjectAltName=IP:${address},IP:127.0.0.1,DNS:localhost`
  await runTool(
    findProgram('openssl'),
    [
      ...kind,
      ...['-days', String(DAYS), '-subj', '/CN=weir', '-addext', names],
      ...['-keyout', keyFile, '-out', draft],
    ],
    { limitMs: LIMIT_MS },
  )
  renameSync(draft, file)
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
