import { join } from 'node:path'
import { newId } from '#common/ids.ts'
import type { Program } from '../env/cloud/program.ts'
import type { Cloud } from '../env/cloud.ts'
import type { LibvirtHarness } from './libvirt-harness.ts'

/** The compute of a libvirt host of the cloud's first cell, as a process of its own, which a test can kill. */
export async function libvirtProgram(
  cloud: Cloud,
  name: string,
  { host }: Pick<LibvirtHarness, 'host'>,
  settings: Readonly<Record<string, string>> = {},
): Promise<Program> {
  const { services, bus, directory } = cloud.foundation
  const cell = cloud.cells[0]!
  const id = newId<string>()
  return {
    name,
    script: 'cells/compute/main.ts',
    settings: {
      COMPUTE_CELL_ID: cell.id,
      COMPUTE_HOST_ID: id,
      COMPUTE_HOST_NAME: name,
      COMPUTE_NATS_URL: services.natsUrl,
      COMPUTE_NATS_CREDENTIALS_FILE: await bus.computeCredentialsFile(cell.id, id),
      COMPUTE_IMAGE_URL: cloud.endpoints.map((endpoint) => `${endpoint}/image`).join(','),
      COMPUTE_STATE_DIRECTORY: join(directory, name),
      COMPUTE_LOG_LEVEL: 'info',
      COMPUTE_DRIVER: 'libvirt',
      COMPUTE_DRIVER_URI: host.uri,
      COMPUTE_DRIVER_VIRT_TYPE: 'qemu',
      COMPUTE_DRIVER_VCPUS: '4',
      COMPUTE_DRIVER_MEMORY_MB: '2048',
      COMPUTE_DRIVER_DISK_GB: '20',
      ...settings,
    },
    wires: ['COMPUTE_NATS_URL'],
    inside: () => Promise.reject(new Error('The compute runs as a process of its own')),
    serves: 'compute serves',
  }
}
