import type { ImageId, InstanceId, NetworkId, PortId } from '#common/ids.ts'
import type { InstanceSpec, NicSpec } from '#drivers/driver.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'
import { configDriveFiles } from './config-drive.ts'

export function nicSpec(nic: InstanceBuild['nics'][number]): NicSpec {
  return { ...nic, portId: nic.portId as PortId, networkId: nic.networkId as NetworkId }
}

/** What a driver is told of a build that came over the wire. */
export function instanceSpec(id: InstanceId, build: InstanceBuild): InstanceSpec {
  const { flavor, image, metadata, keypair, userData, adminPassword, remarks } = build
  const { sameHost: same = [], differentHost: different = [] } = build
  return {
    id,
    displayName: build.name,
    hostname: build.hostname,
    projectId: build.projectId,
    userId: build.userId,
    flavor,
    image: { ...image, id: image.id as ImageId },
    nics: build.nics.map(nicSpec),
    asked: { metadata, keypair, userData, adminPassword },
    ...(remarks === undefined ? {} : { remarks }),
    ...(same.length + different.length > 0 ? { neighbours: { same, different } } : {}),
    ...(build.configDrive ? { configDrive: configDriveFiles(id, build) } : {}),
  }
}
