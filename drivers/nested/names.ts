import { createHash } from 'node:crypto'
import { CLOUD_MARK, cloudMarks } from '#common/cloud-marks.ts'
import {
  type InstanceId,
  isUuid,
  type NetworkId,
  type PortId,
  type VolumeId,
  type VolumeSnapshotId,
} from '#common/ids.ts'
import type { FlavorSpec, Owner } from '../driver.ts'

/** Begins the names of the objects that this host owns below. It is stored there, so it never changes. */
const PREFIX = 'weir-'
const FINGERPRINT_LENGTH = 24

/**
 * The metadata key by which a server is known as ours, with `markerValue`. A server that came through several clouds has
 * one of each.
 */
export function markerKey(owner: Owner): string {
  return `${CLOUD_MARK}${owner.hostId}`
}

/** The instance's id, and the cell that sends it further down. */
export function markerValue(owner: Owner, id: InstanceId): string {
  return `${id} ${owner.cellId}`
}

/** The server that a metadata value names; undefined for a value that is no marker. */
export function instanceOfMarker(value: string | undefined): InstanceId | undefined {
  const [id = ''] = value?.split(' ') ?? []
  return isUuid(id) ? (id as InstanceId) : undefined
}

/** True of a server that is a host's of some Weir. */
export function isMarked(metadata: Readonly<Record<string, string>>): boolean {
  return Object.keys(metadata).some((key) => key.startsWith(CLOUD_MARK))
}

/** The cells that have sent a server down to this one, from its metadata. */
export function viaOf(metadata: Readonly<Record<string, string>>): readonly string[] {
  return cloudMarks(metadata).map(({ cellId }) => cellId)
}

/** One network in the other cloud for each network here, shared by all hosts that use the project. */
export function networkName(id: NetworkId): string {
  return `${PREFIX}${id}`
}

export function portName(id: PortId): string {
  return `${PREFIX}${id}`
}

export function routerName(id: string): string {
  return `${PREFIX}${id}`
}

/** Of a router's port, which is told from a guest's by its name. */
export function interfaceName(id: string): string {
  return `${PREFIX}interface-${id}`
}

/** True of the name of a router's port. */
export function isInterfaceName(name: string): boolean {
  return name.startsWith(interfaceName(''))
}

/** The ids in names that are ours. */
export function idsOf<Id extends string>(names: readonly string[]): readonly Id[] {
  return names
    .filter((name) => name.startsWith(PREFIX))
    .map((name) => name.slice(PREFIX.length))
    .filter((id) => isUuid(id)) as Id[]
}

/** Of the group below for one of our security groups. */
export function groupName(id: string): string {
  return `${PREFIX}${id}`
}

/** The name of a flavor made below: all flavors here of one size share one there. */
export function flavorName({ vcpus, memoryMb, rootGb, ephemeralGb, swapMb }: FlavorSpec): string {
  return `${PREFIX}${vcpus}-${memoryMb}-${rootGb}-${ephemeralGb}-${swapMb}`
}

export function snapshotName(owner: Owner, id: InstanceId): string {
  return `${PREFIX}${id}-${owner.hostId.slice(-12)}`
}

/** Users may call different keys the same, so ours are named by what they are. */
export function keypairName(owner: Owner, publicKey: string): string {
  const fingerprint = createHash('sha256').update(publicKey).digest('hex')
  return `${PREFIX}${fingerprint.slice(0, FINGERPRINT_LENGTH)}-${owner.hostId.slice(-12)}`
}

/** Of a volume or of a snapshot of one, by which it is looked up; what proves that it is ours is its metadata. */
export function volumeName(id: VolumeId | VolumeSnapshotId): string {
  return `${PREFIX}${id}`
}

/** Of the image, and of the snapshot and the copy of a volume in use, that there are while its content is given away. */
export function exportName(owner: Owner, id: VolumeId): string {
  return `${PREFIX}export-${id}-${owner.hostId.slice(-12)}`
}
