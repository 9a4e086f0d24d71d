import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Owner } from '#drivers/driver.ts'
import { run } from '#drivers/run.ts'
import type { VolumeRef } from '#drivers/volumes.ts'
import type { VolumesHarness } from '../contract/volumes-world.ts'

type Content = Required<Pick<VolumesHarness, 'content' | 'sealed' | 'leaveHalf'>>

/** What tests do with the volumes of a cell in a folder, past every driver. `readAt`: where else the folder is seen. */
export function folderContent(
  folder: string,
  { cellId }: Pick<Owner, 'cellId'>,
  readAt = folder,
): Content & { readonly pathOf: (volume: Pick<VolumeRef, 'id'>) => string } {
  const nameOf = ({ id }: Pick<VolumeRef, 'id'>) => `weir-${cellId}-${id}`
  const pathOf = (volume: Pick<VolumeRef, 'id'>) => join(folder, nameOf(volume))
  const sealedIo = async (
    path: string,
    key: string,
    command: string,
    how: readonly string[] = [],
  ) => {
    const scratch = await mkdtemp(join(tmpdir(), 'weir-key-'))
    try {
      const file = join(scratch, 'key')
      await writeFile(file, key)
      const secret = ['--object', `secret,id=key,file=${file}`]
      const node = `driver=luks,key-secret=key,file.driver=file,file.filename=${path}.luks`
      const args = [...how, ...secret, '--image-opts', node, '-c', command]
      const { stdout } = await run('qemu-io', args, { timeoutMs: 60_000 })
      if (stdout.includes('Pattern verification failed')) throw new Error(stdout)
    } finally {
      await rm(scratch, { recursive: true })
    }
  }
  return {
    pathOf,
    leaveHalf: (volume) => writeFile(`${pathOf(volume)}.part`, 'half'),
    content: {
      read: (volume) => readFile(join(readAt, nameOf(volume))),
      async write(volume, start) {
        const file = await open(pathOf(volume), 'r+')
        await file.write(start, 0)
        await file.close()
      },
    },
    sealed: {
      put: (volume, key, byte) => sealedIo(pathOf(volume), key, `write -P ${byte} 0 64k`),
      // A guest may have it open.
      has: (volume, key, byte) =>
        sealedIo(join(readAt, nameOf(volume)), key, `read -P ${byte} 0 64k`, ['-r', '-U']).then(
          () => true,
          () => false,
        ),
      raw: (volume) => readFile(`${join(readAt, nameOf(volume))}.luks`),
    },
  }
}
