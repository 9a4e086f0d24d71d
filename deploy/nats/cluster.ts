import { hkdfSync } from 'node:crypto'
import { keyPair, type NatsKeys } from './nats-keys.ts'

/** Where a server listens. */
export interface NatsPorts {
  readonly port: number
  /** For leaf nodes; of a server with an uplink the port where that is dialled. */
  readonly leafPort: number
}

/** A server of a cluster. Its address and ports stay as they are: the other servers and all programs are given them. */
export interface ClusterMember extends NatsPorts {
  readonly address: string
  /** For the other servers. */
  readonly routePort: number
}

/** PEM files with which the servers of a cluster encrypt, and know each other. The certificate names the server's address. */
export interface ServerTls {
  readonly certificateFile: string
  readonly keyFile: string
  readonly caFile: string
}

export interface Cluster {
  readonly members: readonly ClusterMember[]
  /** The place among them of the server that is started here. */
  readonly own: number
  /** Needed where the members are on several machines: programs and servers then connect over TLS only. */
  readonly tls?: ServerTls | undefined
}

const ID_CHARS = 12
const PASSWORD_BYTES = 32
const ROUTE_USER = 'route'
/** How often a server asks the others for accounts that it missed while it was down. */
export const ACCOUNTS_EVERY_S = 10

/** The servers of the cluster, with commas between them, for programs. */
export function clusterUrl(cluster: Pick<Cluster, 'members' | 'tls'>): string {
  return urlsOf(cluster, ({ port }) => port)
}

/** The same for leaf nodes. */
export function clusterLeafUrl(cluster: Pick<Cluster, 'members' | 'tls'>): string {
  return urlsOf(cluster, ({ leafPort }) => leafPort)
}

function urlsOf(
  { members, tls }: Pick<Cluster, 'members' | 'tls'>,
  portOf: (member: ClusterMember) => number,
): string {
  const scheme = tls === undefined ? 'nats' : 'tls'
  return members
    .map((member) => `${scheme}://${hostPort(member.address, portOf(member))}`)
    .join(',')
}

/**
 * What no other bus is called. NATS refuses a leaf node that has the name of the cluster, and the buses of joined cells
 * have keys, so names, of their own.
 */
export function busName({ systemSeed }: NatsKeys): string {
  return `weir-${keyPair(systemSeed).getPublicKey().slice(0, ID_CHARS)}`
}

/** The server's name, which no other server of any bus has. */
export function serverName(keys: NatsKeys, cluster: Cluster | undefined): string {
  return cluster === undefined ? busName(keys) : `${busName(keys)}-${cluster.own + 1}`
}

/**
 * The lines of the configuration by which a server finds the others and lets them in: with a password that only holders
 * of the bus's keys know, and with certificates if there are any.
 */
export function clusterLines(keys: NatsKeys, cluster: Cluster): readonly string[] {
  const { members, own, tls } = cluster
  const { address, routePort } = ownMember(cluster)
  const password = routePassword(keys)
  const others = members.filter((_, place) => place !== own)
  const route = (to: ClusterMember) =>
    `"nats-route://${ROUTE_USER}:${password}@${hostPort(to.address, to.routePort)}"`
  return [
    'cluster {',
    `  name: "${busName(keys)}-cluster"`,
    `  host: ${JSON.stringify(address)}`,
    `  port: ${routePort}`,
    `  authorization { user: ${ROUTE_USER}, password: "${password}", timeout: 2 }`,
    ...(tls === undefined ? [] : tlsLines(tls, 'verify')),
    `  routes: [ ${others.map(route).join(', ')} ]`,
    // Programs have the list from their settings; those behind a gateway could not use other addresses.
    '  no_advertise: true',
    '}',
  ]
}

/** Throws where `own` names no member. */
export function ownMember({ members, own }: Cluster): ClusterMember {
  const member = members[own]
  if (member === undefined)
    throw new Error(`The cluster has ${members.length} servers, and none at place ${own}`)
  return member
}

/** The lines by which a server encrypts: with `verify` it also requires a certificate of each client. */
export function tlsLines(
  { certificateFile, keyFile, caFile }: ServerTls,
  verify: 'verify' | 'any',
): readonly string[] {
  return [
    'tls {',
    `  cert_file: ${JSON.stringify(certificateFile)}`,
    `  key_file: ${JSON.stringify(keyFile)}`,
    `  ca_file: ${JSON.stringify(caFile)}`,
    `  verify: ${verify === 'verify'}`,
    '  timeout: 5',
    '}',
  ]
}

function routePassword({ operatorSeed }: NatsKeys): string {
  const bytes = hkdfSync(
    'sha256',
    operatorSeed,
    '',
    'routes between servers of the bus',
    PASSWORD_BYTES,
  )
  return Buffer.from(bytes).toString('hex')
}

/** As a URL has it. */
export function hostPort(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
}
