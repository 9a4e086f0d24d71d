import { Failure } from '#common/errors.ts'
import { isUuid, type VolumeId } from '#common/ids.ts'
import { type Ask, EXIT, endedWith, type RbdClient, rbd, rbdJson } from './rbd-client.ts'
import { imageInfo, type RbdNames, removeSnapshot, snapshotNames, specOf } from './rbd-images.ts'
import { onceReleased } from './rbd-openers.ts'

/** The snapshot of an image of the image service that volumes show. */
export const BASE = 'base'

/**
 * Afterwards neither the volume nor a part of it is there. What other volumes show of it stays in Ceph's trash, without
 * its name, until they are gone. Throws `conflict` where it is open.
 */
export async function removeVolume(
  client: RbdClient,
  names: RbdNames,
  id: VolumeId,
  ask: Ask,
): Promise<void> {
  const all = await rbdJson<readonly string[]>(client, ['ls', client.pool], ask)
  const plain = names.volume(id)
  for (const each of all.filter((name) => name === plain || name.startsWith(`${plain}.`)))
    await (names.isPart(each) ? removePart : removeImage)(client, names, each, ask)
  await emptyTrash(client, names, ask)
}

/** The same as `removeImage` of a part, which a program may have had open that died with the process which made the part. */
export async function removePart(
  client: RbdClient,
  names: RbdNames,
  part: string,
  ask: Ask,
): Promise<void> {
  await onceReleased(() => removeImage(client, names, part, ask), ask)
}

/** Afterwards the image is not there, nor the one that it alone has shown. */
export async function removeImage(
  client: RbdClient,
  names: RbdNames,
  image: string,
  ask: Ask,
): Promise<void> {
  // One that is half made has no information, and is there.
  const info = await imageInfo(client, image, ask)
  if (!(await removed(client, image, ask))) {
    for (const name of await snapshotNames(client, image, ask))
      if (!isUuid(name)) await removeSnapshot(client, image, name, ask)
    if (!(await removed(client, image, ask))) await intoTrash(client, image, ask)
  }
  const shown = info?.parent?.image
  if (shown?.startsWith(names.image('')) === true) await removeUnused(client, shown, ask)
}

/** False where snapshots, or volumes that show them, are in the way. */
async function removed(client: RbdClient, image: string, { signal }: Ask): Promise<boolean> {
  try {
    const args = ['rm', '--no-progress', specOf(client, image)]
    await rbd(client, args, { signal, isLong: true })
    return true
  } catch (error) {
    if (endedWith(error, EXIT.notEmpty)) return false
    if (endedWith(error, EXIT.notFound)) return true
    throw ifOpen(error, image)
  }
}

async function intoTrash(client: RbdClient, image: string, ask: Ask): Promise<void> {
  await rbd(client, ['trash', 'mv', specOf(client, image)], ask).catch((error: unknown) => {
    if (!endedWith(error, EXIT.notFound)) throw ifOpen(error, image)
  })
}

function ifOpen(error: unknown, image: string): unknown {
  if (!endedWith(error, EXIT.busy)) return error
  return new Failure('conflict', `A guest or a program has ${image} open.`, { cause: error })
}

/** Afterwards an image of the image service that no volume shows any more is gone. */
async function removeUnused(client: RbdClient, image: string, ask: Ask): Promise<void> {
  const base = specOf(client, image, BASE)
  try {
    const children = await rbdJson<readonly unknown[]>(client, ['children', base], ask)
    if (children.length > 0) return
    await removeSnapshot(client, image, BASE, ask)
  } catch (error) {
    if (endedWith(error, EXIT.notFound)) return
    throw error
  }
  // A volume may have been made of it in between, and shows it still.
  if (!(await removed(client, image, ask))) await intoTrash(client, image, ask)
}

/** Afterwards Ceph's trash has none of this cell's images that nothing shows any more. */
async function emptyTrash(client: RbdClient, { prefix }: RbdNames, ask: Ask): Promise<void> {
  type Trashed = { readonly id: string; readonly name: string }
  const all = await rbdJson<readonly Trashed[]>(client, ['trash', 'ls', client.pool], ask)
  let left = all.filter(({ name }) => name.startsWith(prefix)).map(({ id }) => id)
  // With each that goes, the one that it has shown may go.
  for (let before = Number.POSITIVE_INFINITY; left.length > 0 && left.length < before; ) {
    before = left.length
    const kept: string[] = []
    for (const id of left) if (!(await removedFromTrash(client, id, ask))) kept.push(id)
    left = kept
  }
}

/** False where something shows it still, or another host is removing it. */
async function removedFromTrash(client: RbdClient, id: string, { signal }: Ask): Promise<boolean> {
  try {
    const args = ['trash', 'rm', '--no-progress', `${client.pool}/${id}`]
    await rbd(client, args, { signal, isLong: true })
    return true
  } catch (error) {
    if (endedWith(error, EXIT.notFound)) return true
    if (endedWith(error, EXIT.notEmpty, EXIT.busy)) return false
    throw error
  }
}
