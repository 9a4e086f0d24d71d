import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import { run } from '#drivers/run.ts'
import { callApi, signIn } from '../api/session.ts'
import { cloudAccount } from '../deployment/clouds-file.ts'
import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { outsidePid } from '../ovn/deployment-network.ts'
import { findProgram } from '../process/find-program.ts'
import { endpointOf } from '../up/exposed.ts'

/** The demo's key pair, in the cloud and as a file. */
export const KEY_NAME = 'weir'
const STEP_MS = 10_000
/** A tiny guest makes its host key at each start, so that there is none to remember. */
const OPTIONS = [
  'StrictHostKeyChecking=no',
  'UserKnownHostsFile=/dev/null',
  'LogLevel=ERROR',
  // A server that is ACTIVE may still be starting.
  'ConnectionAttempts=30',
  // An emulated machine takes some seconds to make its host key with the first connection.
  'ConnectTimeout=10',
]

interface Server {
  readonly name: string
  readonly status: string
  readonly addresses: Readonly<
    Record<string, readonly { readonly addr: string; readonly 'OS-EXT-IPS:type': string }[]>
  >
}

/** The public part of the demo's key, which is made where there is none. */
export async function demoKey(layout: Layout): Promise<string> {
  const file = keyFile(layout)
  if (!existsSync(file)) {
    const what = ['-q', '-t', 'ed25519', '-N', '', '-C', KEY_NAME, '-f', file]
    await run(findProgram('ssh-keygen'), what, { timeoutMs: STEP_MS })
  }
  return (await readFile(`${file}.pub`, 'utf8')).trim()
}

/**
 * Runs ssh to a server of the demo's user, by its floating IP, from the deployment's own outside; without a command it
 * opens a shell. Returns the exit code of ssh. Throws `unsupported` without that outside, `not-found` for a server that
 * is not there, and `conflict` for one that cannot be reached.
 */
export async function openShell(
  layout: Layout,
  state: DeploymentState,
  { server: name, login, command }: SshTarget,
): Promise<number> {
  const outside = state.network === 'ovn' ? await outsidePid(layout) : undefined
  if (outside === undefined)
    throw new Failure(
      'unsupported',
      'This deployment has no floating IPs, which need --network ovn, as is usual with --driver libvirt or docker. To start over, losing its servers: ./weir up --fresh',
    )
  const demo = await signIn(endpointOf(state), cloudAccount(layout, 'weir'))
  const pattern = encodeURIComponent(`^${name.replaceAll(/[^\w-]/g, '\\$&')}$`)
  const { servers } = await callApi<{ servers: readonly Server[] }>(demo, {
    method: 'GET',
    path: `/compute/v2.1/servers/detail?name=${pattern}`,
  })
  const address = floatingIpOf(name, servers)
  const args = [
    ...OPTIONS.flatMap((option) => ['-o', option]),
    ...['-i', keyFile(layout), '-l', login, address],
    ...(command.length === 0 ? [] : ['--', ...command]),
  ]
  const enter = [`--net=/proc/${outside}/ns/net`, findProgram('ssh'), ...args]
  const child = spawn('nsenter', enter, { stdio: 'inherit' })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}

export interface SshTarget {
  readonly server: string
  readonly login: string
  readonly command: readonly string[]
}

function floatingIpOf(name: string, servers: readonly Server[]): string {
  const [server, ...more] = servers
  if (server === undefined)
    throw new Failure('not-found', `There is no server ${name}. See: openstack server list`)
  if (more.length > 0)
    throw new Failure('conflict', `${servers.length} servers are called ${name}. Rename one.`)
  if (server.status !== 'ACTIVE')
    throw new Failure(
      'conflict',
      `Server ${name} is ${server.status}: openstack server start ${name}`,
    )
  const all = Object.values(server.addresses).flat()
  const floating = all.find((each) => each['OS-EXT-IPS:type'] === 'floating')
  if (floating === undefined)
    throw new Failure(
      'conflict',
      `Server ${name} has no floating IP. Give it one: openstack floating ip create public, openstack server add floating ip ${name} ADDRESS`,
    )
  return floating.addr
}

function keyFile(layout: Layout): string {
  return join(layout.secrets, 'demo-ssh-key')
}
