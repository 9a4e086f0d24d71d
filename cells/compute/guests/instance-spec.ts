import { formatBeforeChanges } from '#common/changed-format.ts'
import { Failure } from '#common/errors.ts'
import type { AttachmentId, ImageId, InstanceId, NetworkId, PortId, VolumeId } from '#common/ids.ts'
import type { ImageSpec, InstanceSpec, NicSpec } from '#drivers/driver.ts'
import type { AttachmentSpec } from '#drivers/volumes.ts'
import type { BuildVolume, InstanceBuild } from '#openapi/wire/instance.ts'
import { configDriveFiles } from '../metadata/config-drive.ts'

/** A NIC of the wire in the form of the drivers. */
export function nicSpec(nic: InstanceBuild['nics'][number]): NicSpec {
  return { ...nic, portId: nic.portId as PortId, networkId: nic.networkId as NetworkId }
}

/** The driver's form of an image that came over the wire. Throws `invalid` for one whose changes did not come along. */
export function imageSpec(of: InstanceBuild['image']): ImageSpec {
  const { kernel, ramdisk, changes, ...image } = of
  const file = <F extends { readonly id: string }>(of: F) => ({ ...of, id: of.id as ImageId })
  const format = formatBeforeChanges(image.diskFormat)
  if ((format === undefined) !== (changes === undefined))
    throw new Failure(
      'invalid',
      `Image ${image.id} has the format ${image.diskFormat}, and came with${changes === undefined ? 'out' : ''} changes.`,
    )
  return {
    ...file(image),
    ...(format !== undefined && { diskFormat: format }),
    ...(kernel && { kernel: file(kernel) }),
    ...(ramdisk && { ramdisk: file(ramdisk) }),
    ...(changes && { changes: file(changes) }),
  }
}

/** The driver's form of the volumes of a build. Throws `not-found` for one that its cell has lost. */
function attachmentSpecs(volumes: readonly BuildVolume[]): readonly AttachmentSpec[] {
  return volumes.map(({ id, volumeId, store, isReadOnly, isShared, tag, isRoot }) => {
    if (store === undefined)
      throw new Failure('not-found', `Volume ${volumeId} could not be found in this cell.`)
    const ids = { store, attachmentId: id as AttachmentId, id: volumeId as VolumeId }
    return { ...ids, isReadOnly, isShared, ...(tag && { tag }), ...(isRoot && { isRoot }) }
  })
}

/** The driver's form of a build that came over the wire. */
export function instanceSpec(id: InstanceId, build: InstanceBuild): InstanceSpec {
  const { flavor, image, metadata, keypair, userData, adminPassword, files, remarks } = build
  const { sameHost: same = [], differentHost: different = [] } = build
  return {
    id,
    displayName: build.name,
    hostname: build.hostname,
    projectId: build.projectId,
    userId: build.userId,
    flavor,
    image: imageSpec(image),
    nics: build.nics.map(nicSpec),
    ...(build.volumes && { volumes: attachmentSpecs(build.volumes) }),
    asked: { metadata, keypair, userData, adminPassword, ...(files && { files }) },
    ...(remarks === undefined ? {} : { remarks }),
    ...(build.hostNodes && { hostNodes: build.hostNodes }),
    ...(same.length + different.length > 0 ? { neighbours: { same, different } } : {}),
    ...(build.configDrive ? { configDrive: configDriveFiles(id, build) } : {}),
  }
}
