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
