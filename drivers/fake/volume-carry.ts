import { readFile, writeFile } from 'node:fs/promises'
import { Failure } from '#common/errors.ts'
import type { VolumeId } from '#common/ids.ts'
import type { VolumeCopies } from '../volume-copies.ts'
import type { VolumeCarry, VolumeSpec } from '../volumes.ts'
import type { FakeHost } from './host.ts'
import { digestOf, type VolumeFolder } from './volume-folder.ts'

const SEALED = ', sealed by '

/** Throws what `carry` throws where the host has not the copy of which the volume is made, and `conflict` where it is encrypted otherwise. */
export async function findCopy(
  host: FakeHost,
  { id, from, encryption }: VolumeSpec,
): Promise<void> {
  if (from === undefined || !('copy' in from)) return
  const content = await readFile(await host.volumeCopies.find(from.copy), 'utf8')
  const [, seal] = content.split(SEALED)
  const isSealed = from.sealedAs !== undefined || encryption !== undefined
  if (isSealed !== (seal !== undefined) || (isSealed && seal !== keySeal(host, id)))
    throw new Failure('conflict', `The copy of volume ${id} is encrypted otherwise.`)
}

/** What tells the key of the volume from others. Throws `conflict` without it. */
function keySeal({ keyring }: FakeHost, id: VolumeId): string {
  return digestOf(keyring.keyOf(id))
}

/** Copies say of which volume they are, which has no content, and how that is encrypted. */
export function fakeCarry(host: FakeHost, folder: VolumeFolder, copies: VolumeCopies): VolumeCarry {
  const onCopy = async <T>(
    method: 'readVolumeCopy' | 'writeVolumeCopy' | 'dropVolumeCopy',
    signal: AbortSignal,
    work: () => Promise<T>,
  ) => await host.faulty(method, undefined, signal, work)
  return {
    async pack({ store, id }, copy, signal, { sealAs } = {}) {
      if (store !== (await folder.identity()))
        throw new Failure('not-found', `Store ${store} could not be found on this host.`)
      await host.faulty('packVolume', { id, displayName: '' }, signal, () => {
        const { bytes } = folder.get(id)
        if (folder.openers(id).length > 0)
          throw new Failure('conflict', `A guest has volume ${id} open.`)
        if (sealAs !== undefined && folder.isEncrypted(id))
          throw new Failure('conflict', `Volume ${id} is encrypted already.`)
        const seal = sealAs === undefined ? folder.sealOf(id) : keySeal(host, id)
        const content = `volume ${id} of ${bytes} bytes${seal === undefined ? '' : SEALED + seal}`
        return copies.make(copy, (path) => writeFile(path, content))
      })
    },
    read: (copy, part, signal) => onCopy('readVolumeCopy', signal, () => copies.read(copy, part)),
    write: (copy, offset, bytes, signal) =>
      onCopy('writeVolumeCopy', signal, () => copies.write(copy, offset, bytes)),
    drop: (copy, signal) => onCopy('dropVolumeCopy', signal, () => copies.drop(copy)),
  }
}
