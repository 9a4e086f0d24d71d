import { writeFile } from 'node:fs/promises'
import { Failure } from '#common/errors.ts'
import type { VolumeCopies } from '../volume-copies.ts'
import type { VolumeCarry } from '../volumes.ts'
import type { FakeHost } from './host.ts'
import type { VolumeFolder } from './volume-folder.ts'

/** Copies say of which volume they are, which has no content. */
export function fakeCarry(host: FakeHost, folder: VolumeFolder, copies: VolumeCopies): VolumeCarry {
  const onCopy = async <T>(
    method: 'readVolumeCopy' | 'writeVolumeCopy' | 'dropVolumeCopy',
    signal: AbortSignal,
    work: () => Promise<T>,
  ) => await host.faulty(method, undefined, signal, work)
  return {
    async pack({ store, id }, copy, signal) {
      if (store !== (await folder.identity()))
        throw new Failure('not-found', `Store ${store} could not be found on this host.`)
      await host.faulty('packVolume', { id, displayName: '' }, signal, () => {
        const { bytes } = folder.get(id)
        if (folder.openers(id).length > 0)
          throw new Failure('conflict', `A guest has volume ${id} open.`)
        return copies.make(copy, (path) => writeFile(path, `volume ${id} of ${bytes} bytes`))
      })
    },
    read: (copy, part, signal) => onCopy('readVolumeCopy', signal, () => copies.read(copy, part)),
    write: (copy, offset, bytes, signal) =>
      onCopy('writeVolumeCopy', signal, () => copies.write(copy, offset, bytes)),
    drop: (copy, signal) => onCopy('dropVolumeCopy', signal, () => copies.drop(copy)),
  }
}
