import { Failure } from '#common/errors.ts'
import type { InstanceFiles } from '../instance-files.ts'
import type { DomainSubject } from '../instance-record.ts'
import { type AttachedVolume, targetsAfter, volumeDisk } from '../volumes/volume-device.ts'
import { element, type XmlElement } from '../xml/element.ts'
import type { DiskLimits } from './disk-limits.ts'
import type { GuestOptions } from './guest-options.ts'
import type { DiskBus, RescueDevice } from './rescue-device.ts'

export interface DiskPlan {
  readonly subject: DomainSubject
  readonly options: Pick<GuestOptions, 'diskLimits'>
  readonly files: InstanceFiles
  /** The path of the drive the guest is shown. */
  readonly configDrive: string | undefined
  /** Absent: none. */
  readonly volumes?: readonly AttachedVolume[] | undefined
  /** The device from which it boots instead of its own first disk. */
  readonly rescue: RescueDevice | undefined
}

/** How names of disks begin on a bus. */
const PREFIXES: Readonly<Record<DiskBus, string>> = {
  virtio: 'vd',
  ide: 'hd',
  sata: 'sd',
  scsi: 'sd',
}
const LETTERS = 'abcdefghijklmnopqrstuvwxyz'

/**
 * The disks of a domain: the first is what it boots from, unless it is in rescue; a volume may be the first. A stable rescue
 * disk is the last, and the others have the names that they have without it.
 */
export function diskElements({
  subject,
  options,
  files,
  configDrive,
  rescue,
  volumes = [],
}: DiskPlan): XmlElement[] {
  const { ephemeralGb, swapMb } = subject.flavor
  const root = volumes.find(({ isRoot }) => isRoot === true)
  const own = root === undefined ? [files.rootDisk] : []
  if (ephemeralGb > 0) own.push(files.ephemeralDisk)
  if (swapMb > 0) own.push(files.swapDisk)
  const first = (rescue?.isStable === false ? 1 : 0) + (root === undefined ? 0 : 1)
  const limits = limitsElement(options.diskLimits)
  const ownDisks = own.map((path, index) =>
    disk(path, {
      target: `vd${LETTERS[first + index]}`,
      isBooted: rescue === undefined && first + index === 0,
      limits,
    }),
  )
  const targets = targetsAfter(first + own.length)
  const others = volumes.filter((volume) => volume !== root && volume.isLeaving !== true)
  const before = first + own.length + others.length
  const isBooted = rescue === undefined
  return [
    ...(rescue === undefined ? [] : rescueElements(rescue, files.rescue.disk, before)),
    ...(root === undefined ? [] : [volumeDisk(root, 'vda', isBooted)]),
    ...ownDisks,
    ...others.map((volume, index) => volumeDisk(volume, targets[index]!)),
    ...(configDrive === undefined ? [] : [cdrom(configDrive)]),
  ]
}

function rescueElements(
  { kind, bus, isStable }: RescueDevice,
  path: string,
  before: number,
): XmlElement[] {
  // The config drive has the first name on the IDE bus.
  const taken = bus === 'virtio' && isStable ? before : bus === 'ide' ? 1 : 0
  const letter = LETTERS[taken]
  if (letter === undefined)
    throw new Failure('conflict', 'The instance has as many disks as a guest can have.')
  const drive = element(
    'disk',
    { type: 'file', device: kind },
    element('driver', { name: 'qemu', type: 'qcow2' }),
    element('source', { file: path }),
    element('target', { dev: `${PREFIXES[bus]}${letter}`, bus }),
    element('boot', { order: 1 }),
    kind === 'cdrom' ? element('readonly') : undefined,
  )
  // QEMU's default is a controller that few kernels support.
  const scsi = element('controller', { type: 'scsi', model: 'virtio-scsi' })
  return bus === 'scsi' ? [drive, scsi] : [drive]
}

function limitsElement(limits: DiskLimits): XmlElement | undefined {
  const each = Object.entries(limits).map(([name, value]) => element(name, {}, String(value)))
  return each.length === 0 ? undefined : element('iotune', {}, ...each)
}

interface OwnDisk {
  readonly target: string
  readonly isBooted: boolean
  readonly limits: XmlElement | undefined
}

function disk(path: string, { target, isBooted, limits }: OwnDisk): XmlElement {
  return element(
    'disk',
    { type: 'file', device: 'disk' },
    element('driver', { name: 'qemu', type: 'qcow2', cache: 'none', discard: 'unmap' }),
    element('source', { file: path }),
    element('target', { dev: target, bus: 'virtio' }),
    limits,
    isBooted ? element('boot', { order: 1 }) : undefined,
  )
}

function cdrom(path: string): XmlElement {
  return element(
    'disk',
    { type: 'file', device: 'cdrom' },
    element('driver', { name: 'qemu', type: 'raw' }),
    element('source', { file: path }),
    element('target', { dev: 'hda', bus: 'ide' }),
    element('readonly'),
  )
}
