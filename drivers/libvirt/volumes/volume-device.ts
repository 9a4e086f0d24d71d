import { Failure } from '#common/errors.ts'
import type { AttachmentId, VolumeId } from '#common/ids.ts'
import type { AttachmentSpec } from '../../volumes.ts'
import { element, type XmlElement } from '../xml/element.ts'
import { attributeAt, elementsAt, type XmlTree } from '../xml/parse.ts'
import type { IscsiDisk } from './iscsi/iscsi-pool.ts'
import { CONTENT_AT } from './iscsi/lun-label.ts'
import type { RbdPool } from './rbd/rbd-pool.ts'

/** Where a guest's disk finds a volume. */
export interface VolumeSource {
  /** Of a file; with `rbd` the names of the pool and of the image in it, with `iscsi` those of the target and the LUN. */
  readonly path: string
  /** Absent: it is not in Ceph. */
  readonly rbd?: RbdPool
  /** Absent: it is no LUN. */
  readonly iscsi?: IscsiDisk
  /** QEMU opens it with the secret of the volume's id; absent: it is not encrypted. */
  readonly isEncrypted?: true
}

/** A volume of an instance, as its record keeps it. */
export interface AttachedVolume extends AttachmentSpec, VolumeSource {
  /** The guest was asked to release it; absent: it was not. Its definition does not have it. */
  readonly isLeaving?: true
  /** It is being exchanged for another one, which the guest may have already; absent: it is not. */
  readonly swap?: VolumeSwapRecord
}

export interface VolumeSwapRecord {
  readonly to: AttachedVolume
  /** The guest ran, and was paused for the moment in which it changes over. */
  readonly pausesGuest?: true
}

/** The volumes that a guest may have open. */
export function withSwapped(volumes: readonly AttachedVolume[]): readonly AttachedVolume[] {
  return volumes.flatMap((volume) =>
    volume.swap === undefined ? [volume] : [volume, volume.swap.to],
  )
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'.split('')

/**
 * The disk of a volume. Its alias names the attachment, and its serial number the volume. `isBooted`: its guest starts from
 * it if it is the first.
 */
export function volumeDisk(volume: AttachedVolume, target: string, isBooted = true): XmlElement {
  const { id, attachmentId, isReadOnly, isShared, isRoot } = volume
  return element(
    'disk',
    { type: isFile(volume) ? 'file' : 'network', device: 'disk' },
    element('driver', { name: 'qemu', type: 'raw', cache: 'none', discard: 'unmap' }),
    sourceElement(volume),
    element('target', { dev: target, bus: 'virtio' }),
    isReadOnly ? element('readonly') : undefined,
    isShared ? element('shareable') : undefined,
    element('serial', {}, id),
    element('alias', { name: aliasOf(attachmentId) }),
    isRoot === true && isBooted ? element('boot', { order: 1 }) : undefined,
  )
}

/** Whether the volume is a file, which QEMU itself locks. */
export function isFile({ rbd, iscsi }: VolumeSource): boolean {
  return rbd === undefined && iscsi === undefined
}

/**
 * QEMU reaches a store as the definition of the storage pool says, with the secret that it names. `onlyBytes`: it sees so much of a
 * volume that is larger and not encrypted; absent: all of it.
 */
export function sourceElement(
  { id, path, rbd, iscsi, isEncrypted }: AttachedVolume,
  onlyBytes?: number,
): XmlElement {
  if (iscsi !== undefined) return iscsiElement(path, { ...iscsi, bytes: onlyBytes ?? iscsi.bytes })
  const part = onlyBytes === undefined ? undefined : sliceElement(0, onlyBytes)
  if (rbd === undefined)
    return element('source', { file: path }, part, isEncrypted && encryptionElement(id))
  const { login } = rbd
  return element(
    'source',
    { protocol: 'rbd', name: path },
    ...rbd.monitors.map(({ host, port }) => element('host', { name: host, port })),
    part,
    login &&
      element(
        'auth',
        { username: login.user },
        element('secret', { type: 'ceph', ...login.secret }),
      ),
    isEncrypted && encryptionElement(id),
  )
}

/** The volume is the part of the LUN behind its label. */
function iscsiElement(path: string, { portal, initiator, login, bytes }: IscsiDisk): XmlElement {
  return element(
    'source',
    { protocol: 'iscsi', name: path },
    element('host', { name: portal.host, port: portal.port }),
    element('initiator', {}, element('iqn', { name: initiator })),
    sliceElement(CONTENT_AT, bytes),
    login &&
      element(
        'auth',
        { username: login.user },
        element('secret', { type: 'iscsi', ...login.secret }),
      ),
  )
}

function sliceElement(offset: number, size: number): XmlElement {
  return element('slices', {}, element('slice', { type: 'storage', offset, size }))
}

/** Whether QEMU sees a part of fixed size of the disk's file. */
export function isPart(disk: XmlTree): boolean {
  return elementsAt(disk, 'source', 'slices').length > 0
}

/** The daemon has the key of the volume for as long as it needs that. */
export function encryptionElement(id: VolumeId): XmlElement {
  const secret = element('secret', { type: 'passphrase', uuid: id })
  return element('encryption', { format: 'luks' }, secret)
}

/** Libvirt keeps aliases that begin with `ua-` as they are. */
const ALIAS = 'ua-vol-'

export function aliasOf(attachment: AttachmentId): string {
  return `${ALIAS}${attachment}`
}

/** Whether a disk with this alias is a volume. */
export function isVolumeAlias(alias: string | undefined): boolean {
  return alias?.startsWith(ALIAS) === true
}

/** The names of disks after the first so many. */
export function targetsAfter(taken: number): readonly string[] {
  return LETTERS.slice(taken).map((letter) => `vd${letter}`)
}

/** The name of the attachment's disk in a domain; undefined: it has none. */
export function targetOf(domain: XmlTree, attachment: AttachmentId): string | undefined {
  const disk = diskOf(domain, attachment)
  return disk && attributeAt(disk, 'dev', 'target')
}

/** The attachment's disk in a domain; undefined: it has none. */
export function diskOf(domain: XmlTree, attachment: AttachmentId): XmlTree | undefined {
  return elementsAt(domain, 'domain', 'devices', 'disk').find(
    (each) => attributeAt(each, 'name', 'alias') === aliasOf(attachment),
  )
}

/** A name that no disk of these domains has. Throws `conflict` where none is left. */
export function freeTarget(...domains: readonly XmlTree[]): string {
  const disks = domains.flatMap((domain) => elementsAt(domain, 'domain', 'devices', 'disk'))
  const taken = new Set(disks.map((disk) => attributeAt(disk, 'dev', 'target')))
  const free = targetsAfter(1).find((target) => !taken.has(target))
  if (free !== undefined) return free
  throw new Failure('conflict', 'The instance has as many disks as a guest can have.')
}
