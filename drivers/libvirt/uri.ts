import type { NetConnectOpts } from 'node:net'
import { Failure } from '#common/errors.ts'

/** Where a libvirt URI leads: the socket to dial, and the driver URI to ask of the daemon there. */
export interface LibvirtAddress {
  readonly dial: NetConnectOpts
  /** What `connectOpen` is given, such as `qemu:///system`. */
  readonly driverUri: string
  /** True when guests run on this machine, so that what is probed here holds for them. */
  readonly local: boolean
}

/** How the daemon of one host reaches that of another. */
export interface PeerAddress {
  readonly uri: string
  readonly transport: 'unix' | 'tcp' | 'tls'
  readonly hostname: string
}

const SYSTEM_SOCKET = '/run/libvirt/libvirt-sock'
const TCP_PORT = 16_509
/** sockaddr_un.sun_path of Linux, without the closing zero byte. */
const SOCKET_PATH_MAX = 107

/**
 * Reads `qemu:///system`, `qemu+unix:///system?socket=PATH` or `qemu+tcp://HOST[:PORT]/system` as libvirt does
 * (libvirt: docs/uri.rst). Throws `invalid` for any other transport.
 */
export function parseLibvirtUri(uri: string): LibvirtAddress {
  const parsed = URL.parse(uri)
  if (parsed === null) throw new Failure('invalid', `uri: ${uri} is not a URI.`)
  const [driver = '', transport = parsed.hostname === '' ? 'unix' : 'tls'] = parsed.protocol
    .slice(0, -1)
    .split('+')
  const driverUri = `${driver}://${parsed.pathname}`
  if (transport === 'unix') {
    const path = parsed.searchParams.get('socket') ?? SYSTEM_SOCKET
    if (Buffer.byteLength(path) > SOCKET_PATH_MAX)
      throw new Failure('invalid', `uri: the socket path ${path} is too long for this system.`)
    return { dial: { path }, driverUri, local: true }
  }
  if (transport === 'tcp' && parsed.hostname !== '') {
    const port = parsed.port === '' ? TCP_PORT : Number(parsed.port)
    return { dial: { host: parsed.hostname, port }, driverUri, local: false }
  }
  throw new Failure('invalid', `uri: transport ${transport} of ${uri} is neither unix nor tcp.`)
}

/**
 * The URI by which other hosts' daemons reach a daemon that is at `uri` for its driver: as it is over TCP, and by its
 * socket on the same machine.
 */
export function usualPeerUri(uri: string): string {
  const { dial, driverUri, local } = parseLibvirtUri(uri)
  if (!local || !('path' in dial)) return uri
  const [driver, path] = driverUri.split('://')
  return `${driver}+unix://${path}?socket=${encodeURIComponent(dial.path)}`
}

/**
 * Reads what another host says it is reached by. Throws `invalid` for anything that could run a command here, as some
 * transports and parameters of libvirt's URIs do, or turn its checks off.
 */
export function parsePeerUri(uri: string): PeerAddress {
  const parsed = URL.parse(uri)
  const transport = (['unix', 'tcp', 'tls'] as const).find(
    (known) => parsed?.protocol.endsWith(`+${known}:`) === true,
  )
  const parameters = [...(parsed?.searchParams.keys() ?? [])]
  const allowed = transport === 'unix' ? ['socket'] : []
  const isNamed = transport === 'unix' ? parameters.length === 1 : parsed?.hostname !== ''
  if (parsed === null || transport === undefined || !isNamed)
    throw new Failure('invalid', `live_uri: ${uri} leads to no libvirt daemon of another host.`)
  if (!parameters.every((name) => allowed.includes(name)))
    throw new Failure('invalid', `live_uri: ${uri} has a parameter that is not allowed.`)
  return { uri, transport, hostname: parsed.hostname }
}
