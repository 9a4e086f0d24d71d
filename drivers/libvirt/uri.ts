import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import type { DialTarget, TlsFiles } from './rpc/dial.ts'

/** Where a libvirt URI leads: the socket to dial, and the driver URI to ask of the daemon there. */
export interface LibvirtAddress {
  readonly dial: DialTarget
  /** What `connectOpen` is given, such as `qemu:///system`. */
  readonly driverUri: string
  /** True when guests run on this machine, so that findings here hold for them. */
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
const TLS_PORT = 16_514
/** Where libvirt looks for a client's certificates unless `pkipath` names a folder of all three. */
const SYSTEM_TLS: TlsFiles = {
  ca: '/etc/pki/CA/cacert.pem',
  cert: '/etc/pki/libvirt/clientcert.pem',
  key: '/etc/pki/libvirt/private/clientkey.pem',
}
/** sockaddr_un.sun_path of Linux, without the closing zero byte. */
const SOCKET_PATH_MAX = 107

/**
 * Reads `qemu:///system`, `qemu+unix:///system?socket=PATH`, `qemu+tcp://HOST[:PORT]/system` or
 * `qemu+tls://HOST[:PORT]/system[?pkipath=FOLDER]` as libvirt does (libvirt: docs/uri.rst). Throws `invalid` for any
 * other transport, and for what would turn the checks of one off.
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
  const { hostname: host } = parsed
  const portOr = (usual: number) => (parsed.port === '' ? usual : Number(parsed.port))
  if (transport === 'tcp' && host !== '')
    return { dial: { host, port: portOr(TCP_PORT) }, driverUri, local: false }
  if (transport === 'tls' && host !== '')
    return { dial: { host, port: portOr(TLS_PORT), tls: tlsOf(parsed) }, driverUri, local: false }
  throw new Failure(
    'invalid',
    `uri: transport ${transport} of ${uri} is none of unix, tcp and tls, or it names no host.`,
  )
}

function tlsOf({ href, searchParams }: URL): TlsFiles {
  const { pkipath, ...others } = Object.fromEntries(searchParams)
  const [other] = Object.keys(others)
  if (other !== undefined)
    throw new Failure('invalid', `uri: ${href} may have the parameter pkipath, but not ${other}.`)
  if (pkipath === undefined) return SYSTEM_TLS
  const at = (name: string) => join(pkipath, `${name}.pem`)
  return { ca: at('cacert'), cert: at('clientcert'), key: at('clientkey') }
}

/**
 * The URI by which other hosts' daemons reach a daemon that is at `uri` for its driver: by its socket on the same machine,
 * else as it is, but for where this host's certificates lie.
 */
export function defaultPeerUri(uri: string): string {
  const { dial, driverUri, local } = parseLibvirtUri(uri)
  const [driver, path] = driverUri.split('://')
  if ('tls' in dial) return `${driver}+tls://${URL.parse(uri)!.host}${path}`
  if (!local || !('path' in dial)) return uri
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
