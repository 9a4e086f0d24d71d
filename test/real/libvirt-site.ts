import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type RunningLibvirtHost, startLibvirtHost } from '#deploy/libvirt-host/libvirt-host.ts'
import type { Cloud } from '../env/cloud.ts'
import { startDrivenHost } from '../env/driven-host.ts'
import type { Site } from './server-cells.ts'

const PROGRAM_MS = 60_000
/** Past what a small image has. */
const WHERE = '700M 1M'
const program = promisify(execFile)

/** A site, and where its guests are. */
export interface LibvirtSite extends Site {
  readonly libvirt: RunningLibvirtHost
  /** The file of the server's root disk. */
  diskOf(serverId: string): string
}

/** A libvirt host of its own as the cell's one host, until `owned` is disposed of. */
export async function startLibvirtSite(
  owned: AsyncDisposableStack,
  cloud: Cloud,
  name: string,
  directory: string,
): Promise<LibvirtSite> {
  const id = randomUUID()
  const libvirt = await startLibvirtHost({ directory, name: `libvirt-${id.slice(0, 8)}` })
  owned.defer(() => libvirt.stop())
  const size = { vcpus: '4', memory_mb: '2048', disk_gb: '20' }
  const settings = { uri: libvirt.uri, virt_type: 'qemu', ...size }
  const host = await startDrivenHost(cloud, 'libvirt', settings, id, cloud.cell(name))
  owned.use(host)
  const diskOf = (serverId: string) =>
    join(cloud.foundation.directory, host.name, 'instances', serverId, 'root.qcow2')
  const qemuIo = async (serverId: string, command: string) => {
    const args = ['-f', 'qcow2', '-c', command, diskOf(serverId)]
    return (await program('qemu-io', args, { timeout: PROGRAM_MS })).stdout
  }
  return {
    ...{ name, host, libvirt, diskOf },
    mark: async (serverId, byte) => {
      await qemuIo(serverId, `write -P ${byte} ${WHERE}`)
    },
    isMarked: async (serverId, byte) => {
      const read = await qemuIo(serverId, `read -P ${byte} ${WHERE}`)
      return read.includes('read 1048576') && !read.includes('failed')
    },
    end: () => libvirt.stop(),
  }
}
