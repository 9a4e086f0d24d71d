import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Owner } from '#drivers/driver.ts'
import { run } from '#drivers/run.ts'
import type { VolumeRef } from '#drivers/volumes.ts'
import { type CephRbd } from '#test/env/ceph/rbd.ts'
import { reachFrom } from '#test/env/reach-from.ts'
import type { LibvirtHarness } from './libvirt-harness.ts'

const COMMAND_MS = 30_000

/** A host's settings for the storage pool, which has this name on every host. */
export function rbdSettings({ programs }: CephRbd) {
  return { volumePools: ['ceph'], cephPrograms: programs }
}

/** The same on every host, as a guest's disk names it wherever the guest goes. */
const SECRET = randomUUID()

/** Afterwards the host reaches the cluster and has its pool, as an operator would define it. */
export async function giveRbdPool(
  harness: LibvirtHarness,
  { cluster, pool, user, key }: CephRbd,
): Promise<AsyncDisposable> {
  const { directory, monitorPort, ports } = cluster
  const [first, last] = ports
  const others = Array.from({ length: last - first + 1 }, (_, index) => first + index)
  const reached = await reachFrom(harness.host, { directory, ports: [monitorPort, ...others] })
  const file = join(harness.directory, 'define.xml')
  await writeFile(
    file,
    `<secret ephemeral='no' private='no'><uuid>${SECRET}</uuid><usage type='ceph'><name>weir</name></usage></secret>`,
  )
  await harness.virsh('secret-define', file)
  await harness.virsh('secret-set-value', SECRET, '--base64', key)
  await writeFile(
    file,
    `<pool type='rbd'><name>ceph</name><source><host name='127.0.0.1' port='${cluster.monitorPort}'/><name>${pool}</name>
      <auth type='ceph' username='${user}'><secret uuid='${SECRET}'/></auth></source></pool>`,
  )
  await harness.virsh('pool-define', file)
  return reached
}

/** What tests do with the volumes of a cell in the pool, past every driver. */
export function rbdContent(ceph: CephRbd, { cellId }: Pick<Owner, 'cellId'>) {
  const { pool, cluster } = ceph
  const imageOf = ({ id }: Pick<VolumeRef, 'id'>) => `weir-${cellId}-${id}`
  const specOf = (volume: Pick<VolumeRef, 'id'>) => `${pool}/${imageOf(volume)}`
  return {
    specOf,
    read: async (volume: VolumeRef): Promise<Buffer> => {
      const folder = await mkdtemp(join(tmpdir(), 'weir-rbd-'))
      try {
        const path = join(folder, 'content')
        await ceph.rbd('export', '--no-progress', specOf(volume), path)
        return await readFile(path)
      } finally {
        await rm(folder, { recursive: true })
      }
    },
    write: async (volume: VolumeRef, start: string): Promise<void> => {
      const path = join(cluster.directory, `write-${volume.id}`)
      await writeFile(path, Buffer.concat([Buffer.from(start), Buffer.alloc(512)]).subarray(0, 512))
      const disk = `rbd:${specOf(volume)}:id=admin:conf=${cluster.configuration}`
      await run('qemu-io', ['-f', 'raw', '-c', `write -s ${path} 0 512`, disk], {
        timeoutMs: COMMAND_MS,
      })
    },
    /** Every name in the pool that is about the object, those in the trash too. */
    leftovers: async (id: string): Promise<readonly string[]> => {
      const images = JSON.parse(await ceph.rbd('ls', '--format', 'json', pool)) as string[]
      const trash = JSON.parse(await ceph.rbd('trash', 'ls', '--format', 'json', pool)) as {
        name: string
      }[]
      return [...images, ...trash.map(({ name }) => name)].filter((name) => name.includes(id))
    },
  }
}
