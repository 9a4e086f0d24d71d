import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type HostId, newId } from '#common/ids.ts'
import type { Owner } from '#drivers/driver.ts'
import { run } from '#drivers/run.ts'
import type { VolumeRef } from '#drivers/volumes.ts'
import { type CephRbd, startCephRbd } from '#test/env/ceph/rbd.ts'
import { reachFrom } from '#test/env/reach-from.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import type { PoolHosts } from './libvirt-pool-hosts.ts'

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

export interface CephHosts extends Omit<PoolHosts, 'pool'> {
  readonly ceph: CephRbd
}

/** Two daemons with one pool of Ceph. */
export async function startCephHosts(): Promise<CephHosts> {
  await using owned = new AsyncDisposableStack()
  const ceph = owned.use(await startCephRbd())
  const one = owned.use(await startLibvirtHarness('leaver'))
  const two = owned.use(await startLibvirtHarness('taker'))
  const cellId = one.owner.cellId
  const open = async (harness: LibvirtHarness) => {
    owned.use(await giveRbdPool(harness, ceph))
    return owned.use(await harness.openAs({ cellId, hostId: newId<HostId>() }, rbdSettings(ceph)))
  }
  const [here, there] = [await open(one), await open(two)]
  const parts = owned.move()
  const { image } = one
  return { here, there, image, one, two, ceph, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

/** What tests do with the volumes of a cell in the pool, past every driver. */
export function rbdContent(ceph: CephRbd, { cellId }: Pick<Owner, 'cellId'>) {
  const { pool, cluster } = ceph
  const imageOf = ({ id }: Pick<VolumeRef, 'id'>) => `weir-${cellId}-${id}`
  const specOf = (volume: Pick<VolumeRef, 'id'>) => `${pool}/${imageOf(volume)}`
  const contentOf = async (spec: string): Promise<Buffer> => {
    const folder = await mkdtemp(join(tmpdir(), 'weir-rbd-'))
    try {
      const path = join(folder, 'content')
      await ceph.rbd('export', '--no-progress', spec, path)
      return await readFile(path)
    } finally {
      await rm(folder, { recursive: true })
    }
  }
  const sealedIo = async (volume: VolumeRef, key: string, command: string) => {
    const file = join(cluster.directory, `key-${volume.id}`)
    await writeFile(file, key)
    const image = `${imageOf(volume)}.luks256`
    const place = { driver: 'rbd', pool, image, user: 'admin', conf: cluster.configuration }
    const options = Object.entries(place).map(([name, value]) => `file.${name}=${value}`)
    const node = ['driver=luks', 'key-secret=key', ...options].join(',')
    const args = ['--object', `secret,id=key,file=${file}`, '--image-opts', node, '-c', command]
    const { stdout } = await run('qemu-io', args, { timeoutMs: COMMAND_MS })
    if (stdout.includes('Pattern verification failed')) throw new Error(stdout)
  }
  return {
    specOf,
    read: (volume: VolumeRef): Promise<Buffer> => contentOf(specOf(volume)),
    /** Of an encrypted one. */
    sealed: {
      put: (volume: VolumeRef, key: string, byte: number) =>
        sealedIo(volume, key, `write -P ${byte} 0 64k`),
      has: (volume: VolumeRef, key: string, byte: number) =>
        sealedIo(volume, key, `read -P ${byte} 0 64k`).then(
          () => true,
          () => false,
        ),
      raw: (volume: Pick<VolumeRef, 'id'>, snapshot?: string): Promise<Buffer> =>
        contentOf(`${specOf(volume)}.luks256${snapshot === undefined ? '' : `@${snapshot}`}`),
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
