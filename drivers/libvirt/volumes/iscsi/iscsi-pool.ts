import { Failure } from '#common/errors.ts'
import { attributeAt, elementsAt, type XmlTree } from '../../xml/parse.ts'
import type { Portal } from './iscsi-connection.ts'

const PORT = 3260

/** How a host reaches a target, as the definition of a storage pool says. */
export interface IscsiPool {
  readonly portal: Portal
  readonly target: string
  /** This host's own name. */
  readonly initiator: string
  /** Absent: the target asks for no password. */
  readonly login?: IscsiUser
}

export interface IscsiUser {
  readonly user: string
  /** The secret of libvirt that has the password, by its UUID or its usage. */
  readonly secret: { readonly uuid: string } | { readonly usage: string }
}

/** The part of a LUN that is a volume, as a guest's disk reaches it. */
export interface IscsiDisk extends IscsiPool {
  readonly lun: number
  readonly bytes: number
}

/** Throws `invalid` for a definition that names no portal, target or initiator. */
export function parseIscsiPool(name: string, xml: XmlTree): IscsiPool {
  const source = ['pool', 'source'] as const
  const [host] = elementsAt(xml, ...source, 'host')
  const portal = {
    host: host === undefined ? '' : attributeAt(host, 'name'),
    port: Number((host && attributeAt(host, 'port')) || PORT),
  }
  const target = attributeAt(xml, 'path', ...source, 'device')
  const initiator = attributeAt(xml, 'name', ...source, 'initiator', 'iqn')
  if ([portal.host, target, initiator].includes(''))
    throw new Failure('invalid', `Storage pool ${name} names no portal, target or initiator.`)
  const user = attributeAt(xml, 'username', ...source, 'auth')
  if (user === '') return { portal, target, initiator }
  const [uuid, usage] = ['uuid', 'usage'].map((each) =>
    attributeAt(xml, each, ...source, 'auth', 'secret'),
  ) as [string, string]
  const secret = uuid === '' ? { usage } : { uuid }
  return { portal, target, initiator, login: { user, secret } }
}

/** A portal as QEMU's options name it. */
export function portalText({ host, port }: Portal): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}
