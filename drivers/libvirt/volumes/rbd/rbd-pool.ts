import { Failure } from '#common/errors.ts'
import { attributeAt, elementsAt, textAt, type XmlTree } from '../../xml/parse.ts'

/** How clients reach a pool of a Ceph cluster, as the definition of a storage pool says. */
export interface RbdPool {
  /** Its name in the cluster. */
  readonly pool: string
  readonly monitors: readonly Monitor[]
  /** Absent: the cluster asks for no key. */
  readonly login?: RbdLogin
}

export interface Monitor {
  readonly host: string
  /** Absent: the ports that are usual. */
  readonly port?: string
}

export interface RbdLogin {
  readonly user: string
  /** The secret of libvirt that has the key, by its UUID or its usage. */
  readonly secret: { readonly uuid: string } | { readonly usage: string }
}

/** Throws `invalid` for a definition that names no monitor or no pool. */
export function parseRbdPool(name: string, xml: XmlTree): RbdPool {
  const source = ['pool', 'source'] as const
  const pool = textAt(xml, ...source, 'name')
  const monitors = elementsAt(xml, ...source, 'host').map((host) => {
    const port = attributeAt(host, 'port')
    return { host: attributeAt(host, 'name'), ...(port !== '' && { port }) }
  })
  if (pool === '' || monitors.length === 0)
    throw new Failure('invalid', `Storage pool ${name} names no monitor or no pool of Ceph.`)
  const user = attributeAt(xml, 'username', ...source, 'auth')
  if (user === '') return { pool, monitors }
  const [uuid, usage] = ['uuid', 'usage'].map((each) =>
    attributeAt(xml, each, ...source, 'auth', 'secret'),
  ) as [string, string]
  return { pool, monitors, login: { user, secret: uuid === '' ? { usage } : { uuid } } }
}

/** The settings with which Ceph's programs, and QEMU's, reach the cluster. */
export function clientConfiguration({ monitors }: RbdPool, keyring: string): string {
  const addresses = monitors.map(({ host, port }) => {
    const name = host.includes(':') ? `[${host}]` : host
    return port === undefined ? name : `${name}:${port}`
  })
  return [
    '[global]',
    `mon_host = ${addresses.join(',')}`,
    `keyring = ${keyring}`,
    // Snapshots go while volumes show them: the older format would have each one protected, and kept.
    'rbd_default_clone_format = 2',
    'rbd_default_features = layering,exclusive-lock,object-map,fast-diff,deep-flatten',
    'admin_socket =',
    'log_file = /dev/null',
    '',
  ].join('\n')
}

export function keyringOf({ login }: RbdPool, key: Uint8Array): string {
  if (login === undefined) return ''
  return `[client.${login.user}]\n\tkey = ${Buffer.from(key).toString('base64')}\n`
}
