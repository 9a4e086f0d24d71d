import { newId } from '#common/ids.ts'
import type { InstanceBuild, OperationRef } from '#openapi/wire/instance.ts'

/** A small server made for simulated hosts. */
export function sampleBuild(change: Partial<InstanceBuild> = {}): InstanceBuild {
  return {
    projectId: 'project',
    userId: 'user',
    name: 'server',
    hostname: 'server',
    metadata: {},
    flavor: {
      id: '1',
      name: 'm1.tiny',
      vcpus: 1,
      memoryMb: 128,
      rootGb: 1,
      ephemeralGb: 0,
      swapMb: 0,
      extraSpecs: {},
    },
    image: {
      id: newId(),
      name: 'tiny',
      diskFormat: 'qcow2',
      sizeBytes: 1,
      sha256: '0'.repeat(64),
      minDiskGb: 0,
      minRamMb: 0,
      properties: { hypervisor_type: 'fake' },
      ticket: 'ticket',
    },
    nics: [],
    keypair: null,
    userData: null,
    adminPassword: null,
    configDrive: false,
    zone: null,
    requestedHost: null,
    launchIndex: 0,
    reservationId: 'r-test',
    ...change,
  }
}

/** A new operation, about a new server unless one is given. */
export function operationOn(serverId: string = newId(), attempt = 1): OperationRef {
  return { id: newId(), serverId, attempt }
}
