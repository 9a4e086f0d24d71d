import { existsSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { CellId, VolumeId } from '#common/ids.ts'
import { run } from '#drivers/run.ts'
import type { CephRbd } from '../env/ceph/rbd.ts'
import { rbdContent } from './libvirt-rbd-harness.ts'

const COMPARE_MS = 300_000

/** A volume, or a snapshot of it. */
export interface Stored {
  readonly volume: string
  readonly snapshot?: string
}

/** What a cell has in a store, seen past every driver. */
export interface StoreContent {
  isThere(stored: Stored): Promise<boolean>
  /** Its disk, which is raw, as QEMU's programs open it. */
  diskOf(stored: Stored): string
  bytesOf(volume: string): Promise<number>
  /** The names of all that is there. */
  names(): Promise<readonly string[]>
}

/** Of a folder, the pool of a host. */
export function folderContent(pool: string, cellId: CellId): StoreContent {
  const pathOf = ({ volume, snapshot }: Stored) =>
    join(pool, `weir-${cellId}-${volume}${snapshot === undefined ? '' : `.${snapshot}`}`)
  return {
    isThere: async (stored) => existsSync(pathOf(stored)),
    diskOf: pathOf,
    bytesOf: async (volume) => (await stat(pathOf({ volume }))).size,
    names: async () => (await readdir(pool)).filter((name) => name.startsWith('weir-')),
  }
}

/** Of a pool of Ceph. */
export function cephContent(ceph: CephRbd, cellId: CellId): StoreContent {
  const { cluster, pool } = ceph
  const { specOf, leftovers } = rbdContent(ceph, { cellId })
  const json = async <T>(...args: readonly string[]) =>
    JSON.parse(await ceph.rbd(...args, '--format', 'json')) as T
  const imageOf = ({ volume }: Stored) => specOf({ id: volume as VolumeId })
  return {
    async isThere(stored) {
      const image = imageOf(stored)
      const images = await json<readonly string[]>('ls', pool)
      if (!images.includes(image.slice(pool.length + 1))) return false
      if (stored.snapshot === undefined) return true
      const snapshots = await json<readonly { readonly name: string }[]>('snap', 'ls', image)
      return snapshots.some(({ name }) => name === stored.snapshot)
    },
    diskOf(stored) {
      const at = stored.snapshot === undefined ? '' : `@${stored.snapshot}`
      return `rbd:${imageOf(stored)}${at}:id=admin:conf=${cluster.configuration}`
    },
    bytesOf: async (volume) => (await json<{ size: number }>('info', imageOf({ volume }))).size,
    names: () => leftovers('weir'),
  }
}

/** Throws unless the raw disk has every byte of the image, and then only zeros. A guest may have it open. */
export async function expectSameContent(
  image: { readonly path: string; readonly format: 'raw' | 'qcow2' },
  disk: string,
): Promise<void> {
  const args = ['-U', '-f', image.format, '-F', 'raw', image.path, disk]
  await run('qemu-img', ['compare', ...args], { timeoutMs: COMPARE_MS })
}
