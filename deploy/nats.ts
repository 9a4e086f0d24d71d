import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { waitFor } from '#common/wait-for.ts'
import { hostPort, type NatsPorts, ownMember } from './nats/cluster.ts'
import { connectSystem } from './nats/connect-system.ts'
import { type NatsOptions, natsConfig } from './nats/nats-config.ts'
import { type NatsKeys, natsKeys, operatorSeedFile } from './nats/nats-keys.ts'
import { findProgram } from './process/find-program.ts'
import { freePort } from './process/free-port.ts'
import { isRunning, type ProcessIdentity } from './process/process-identity.ts'
import { type Lifetime, logTail, startProcess } from './process/start-process.ts'
import { stopProcess } from './process/stop-process.ts'
import { writeFileAtomically } from './process/write-file-atomically.ts'

/** A private nats-server in operator mode. */
export interface Nats {
  readonly url: string
  /** Loopback, but for a member of a cluster. */
  readonly address: string
  readonly port: number
  /** Where it takes leaf nodes; of one with an uplink where that is dialled. */
  readonly leafPort: number
  readonly operatorSeedFile: string
  readonly process: ProcessIdentity
  readonly keys: NatsKeys
}

interface Settings extends NatsPorts {
  readonly address?: string
  readonly isEncrypted?: boolean
  readonly process?: ProcessIdentity
}

const READY_LIMIT_MS = 30_000
const LOOPBACK = '127.0.0.1'

/**
 * Afterwards a nats-server runs from `directory`, with the accounts pushed to it earlier. A server that runs already is
 * left unchanged. Keys and port are kept there (0600); a port that another program has taken is replaced by a free one.
 * With an uplink the server dials out to another bus, and works while that cannot be reached. With a cluster it is one
 * of its members, at its fixed ports, and works while the others are down; it needs their keys (`takeKeys`).
 */
export async function startNats(
  directory: string,
  lifetime: Lifetime,
  options: NatsOptions = {},
): Promise<Nats> {
  const home = resolve(directory)
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const keys = natsKeys(home)
  const old = loadSettings(home)
  if (old?.process !== undefined && isRunning(old.process))
    return whenReady(handle(home, old, old.process, keys), home)
  const ports = await portsOf(options, old)
  writeFileAtomically(`${home}/nats.conf`, await natsConfig(home, ports, keys, options))
  const identity = await startProcess({
    command: findProgram('nats-server'),
    args: ['-c', `${home}/nats.conf`],
    env: { PATH: process.env['PATH'], TZ: 'UTC' },
    directory: home,
    logFile: `${home}/nats.log`,
    lifetime,
    record: (started) =>
      writeFileAtomically(`${home}/settings.json`, JSON.stringify({ ...ports, process: started })),
  })
  return whenReady(handle(home, ports, identity, keys), home)
}

/** The nats-server of this directory if it runs. */
export function runningNats(directory: string): Nats | undefined {
  const home = resolve(directory)
  const settings = loadSettings(home)
  if (settings?.process === undefined || !isRunning(settings.process)) return undefined
  return handle(home, settings, settings.process, natsKeys(home))
}

/** Afterwards no nats-server runs from `directory`; keys and accounts stay. */
export async function stopNats(directory: string): Promise<void> {
  const running = runningNats(directory)
  if (running !== undefined) await stopProcess(running.process)
}

async function portsOf({ cluster }: NatsOptions, old: Settings | undefined): Promise<Settings> {
  if (cluster === undefined)
    return { port: await freePort(old?.port), leafPort: await freePort(old?.leafPort) }
  const { address, port, leafPort } = ownMember(cluster)
  return { address, port, leafPort, isEncrypted: cluster.tls !== undefined }
}

function handle(home: string, settings: Settings, identity: ProcessIdentity, keys: NatsKeys): Nats {
  const { address = LOOPBACK, port, leafPort, isEncrypted } = settings
  return {
    url: `${isEncrypted === true ? 'tls' : 'nats'}://${hostPort(address, port)}`,
    address,
    port,
    leafPort,
    operatorSeedFile: operatorSeedFile(home),
    process: identity,
    keys,
  }
}

/** Also one that ran already: the process that started it may have been killed before it was ready. */
async function whenReady(nats: Nats, home: string): Promise<Nats> {
  const probe = async () => {
    if (!isRunning(nats.process)) return 'ended'
    const connection = await connectSystem(nats.url, nats.keys.systemSeed)
    await connection.close()
    return 'ready'
  }
  const state = await waitFor('nats-server to accept connections', probe, READY_LIMIT_MS)
  if (state === 'ended')
    throw new Error(`nats-server ended while starting: ${logTail(`${home}/nats.log`)}`)
  return nats
}

function loadSettings(home: string): Settings | undefined {
  const file = `${home}/settings.json`
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Settings) : undefined
}
