import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import type { ClusterMember } from '../nats/cluster.ts'

/** What the machines of a control plane have in common. */
export interface ControlPlane {
  /** IP addresses, in the order in which they were given: the first is where the databases began. */
  readonly machines: readonly string[]
  /** The address or name at which clients, cells and hosts reach the proxies. */
  readonly endpoint: string
  /** Of all gateways, by name, as chosen with `--set`. */
  readonly settings: Readonly<Record<string, string>>
  /** False where the databases are others than those of these machines. */
  readonly hasDatabases: boolean
}

/** The ports of a machine of a control plane: the same on every one. */
export const PORTS = {
  proxy: 8_443,
  gateway: 8_444,
  gatewayPlain: 8_774,
  admission: 8_445,
  sql: 3_306,
  galera: 4_567,
  ist: 4_568,
  sst: 4_444,
  bus: 4_222,
  leaf: 7_422,
  routes: 6_222,
} as const

/** Where a machine keeps what, and as which group its programs read it. */
export interface Folders {
  /** Settings and secrets. */
  readonly directory: string
  /** Data, and what the programs write. */
  readonly state: string
}

export const DEFAULT_DIRECTORIES: Folders = { directory: '/etc/weir', state: '/var/lib/weir' }
/** Files of the folder that several parts of the launcher name. */
export const FILES = {
  plane: 'control-plane.json',
  certificate: 'tls.crt',
  key: 'tls.key',
  /** A certificate that is to replace that of the machines, and its key; absent but while it is replaced. */
  nextCertificate: 'next.crt',
  nextKey: 'next.key',
  clouds: 'clouds.yaml',
  databaseUrl: 'database.url',
  gatewayKey: 'gateway.key',
  gatewayEnv: 'gateway.env',
  /** Of a site among several. */
  site: 'site.json',
  /** The certificate and key of the first site, with which those of others are signed; absent there. */
  authority: 'authority.crt',
  authorityKey: 'authority.key',
  /** The address of the machine itself. */
  machine: 'machine',
} as const

/** Throws `invalid` for addresses that no control plane can have. */
export function assertMachines(machines: readonly string[]): void {
  const wrong = machines.find((each) => isIP(each) === 0)
  if (wrong !== undefined)
    throw new Failure(
      'invalid',
      `'${wrong}' is not an IP address. Give those of all machines, this one's first: --machines 192.0.2.11,192.0.2.12,192.0.2.13`,
    )
  const version6 = machines.find((each) => isIP(each) === 6)
  if (version6 !== undefined)
    throw new Failure(
      'invalid',
      `'${version6}' is an IPv6 address. The databases, the bus and the proxies of the machines use IPv4 among each other: give an IPv4 address of each machine.`,
    )
  if (new Set(machines).size < machines.length)
    throw new Failure('invalid', `--machines ${machines.join(',')} names a machine twice.`)
  if (machines.length % 2 === 0)
    throw new Failure(
      'invalid',
      `--machines names ${machines.length} machines. Databases on an even number stop when half of them are lost: give one, three or five.`,
    )
}

/** The control plane that a folder is a machine of; undefined where it is none yet. */
export function loadControlPlane({ directory }: Folders): ControlPlane | undefined {
  const file = join(directory, FILES.plane)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ControlPlane) : undefined
}

/** The same; throws `not-found` where there is none. */
export function existingControlPlane(folders: Folders): ControlPlane {
  const plane = loadControlPlane(folders)
  if (plane === undefined)
    throw new Failure(
      'not-found',
      `${folders.directory} has no control plane. Run: ./weir init --machines ADDRESSES`,
    )
  return plane
}

/** The address of the machine whose folder this is. */
export function ownAddress({ directory }: Folders): string {
  return readFileSync(join(directory, FILES.machine), 'utf8').trim()
}

/** Where clients reach the proxies. */
export function endpointUrl({ endpoint }: ControlPlane): string {
  return `https://${isIP(endpoint) === 6 ? `[${endpoint}]` : endpoint}:${PORTS.proxy}`
}

/** The servers of its bus. */
export function busMembers({ machines }: ControlPlane): readonly ClusterMember[] {
  return machines.map((address) => ({
    address,
    port: PORTS.bus,
    leafPort: PORTS.leaf,
    routePort: PORTS.routes,
  }))
}
