import { type CellId, type ImageId, type InstanceId, newId } from '#common/ids.ts'
import type { NewServer } from '#gateway/app/servers/boot/new-server.ts'

/** A server as the gateway writes it when it promises it: building, in the cell given. */
export function sampleServer(
  owner: { readonly projectId: string; readonly userId: string },
  cellId: CellId | null,
  changed: Partial<NewServer> = {},
): NewServer {
  return {
    id: newId<InstanceId>(),
    projectId: owner.projectId,
    userId: owner.userId,
    cellId,
    attempt: 1,
    name: 'server',
    hostname: 'server',
    description: null,
    metadata: {},
    tags: [],
    flavor: {
      id: 'tiny',
      name: 'm1.tiny',
      vcpus: 1,
      memoryMb: 128,
      rootGb: 1,
      ephemeralGb: 0,
      swapMb: 0,
      extraSpecs: {},
    },
    imageId: '0b1c2d3e-4f50-4617-8293-a4b5c6d7e8f9' as ImageId,
    keyName: null,
    configDrive: false,
    addresses: {},
    securityGroups: ['default'],
    reservationId: 'r-12345678',
    launchIndex: 0,
    diskConfig: 'MANUAL',
    requestedZone: null,
    accessIPv4: null,
    accessIPv6: null,
    vmState: 'building',
    taskState: 'scheduling',
    fault: null,
    requested: null,
    ...changed,
  }
}
