import type { Tx } from '#common/db/database.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { insertImage } from '../../../db/images.ts'
import { queueActions } from '../../../db/server-actions.ts'
import { findSnapshot } from '../../../db/volume-snapshots.ts'
import type { Compute } from '../../compute.ts'
import { chargeImage } from '../../images/image-quota.ts'
import type { Images } from '../../images/images.ts'
import { removeImage } from '../../images/remove-image.ts'
import { uploadContent } from '../../images/upload-content.ts'
import { type RequestContext, requesterOf } from '../../request-context.ts'
import { createSnapshot } from '../../volume-snapshots/create-snapshot.ts'
import { deleteSnapshot } from '../../volume-snapshots/snapshot-actions.ts'
import { attachmentsInOrder } from '../../volumes/build-volumes.ts'
import type { VolumeDeps } from '../../volumes/describe-volume.ts'
import { type KeptVolume, mappingProperties } from '../boot/image-mapping.ts'
import type { SnapshotOrder } from '../boot/server-images.ts'
import type { ServerRecord } from '../list/server-record.ts'

const POLL_MS = 200
/** Less than a client waits for its request. */
const WAIT_MS = 10_000

/**
 * Afterwards there is an image without content that names snapshots of the server's volumes, from which servers can be
 * built. Throws `over-quota`, and what `createSnapshot` does; then nothing of it is left.
 */
export async function saveVolumes(
  { compute, images }: VolumeDeps,
  context: RequestContext,
  server: ServerRecord,
  order: SnapshotOrder,
): Promise<void> {
  const kept: KeptVolume[] = []
  try {
    for (const attachment of await attachmentsInOrder(compute.db, server.id)) {
      const named = { name: `snapshot for ${order.name}`, description: '', metadata: {} }
      const asked = { ...named, volumeId: attachment.volumeId, mayBeInUse: true }
      kept.push({ attachment, snapshot: await createSnapshot(compute, context, asked, null) })
    }
    for (const { snapshot } of kept) await untilWhole(compute, snapshot.id)
    await recordImage(images, order, mappingProperties(kept), async (tx) =>
      queueActions(tx, [
        {
          ...{ serverId: server.id, requestId: context.requestId, action: 'createImage' },
          ...{ ...requesterOf(context, server), message: null },
        },
      ]),
    )
    await fillEmpty(images, context, order.imageId)
  } catch (error) {
    await forget({ compute, images }, context, order.imageId, kept)
    throw error
  }
}

/** Waits for a snapshot that is quick, so that the image can be used at once. Throws `conflict` for one that has failed. */
async function untilWhole({ db, clock }: Compute, id: string): Promise<void> {
  for (let polls = 0; polls < WAIT_MS / POLL_MS; polls += 1) {
    const snapshot = await findSnapshot(db, id)
    if (snapshot?.status === 'available') return
    if (snapshot?.status !== 'creating')
      throw new Failure('conflict', `Snapshot ${id} is ${snapshot?.status ?? 'gone'}. Try again.`)
    await clock.sleep(POLL_MS)
  }
}

async function recordImage(
  images: Images,
  { imageId, owner, name, minRamMb, properties }: SnapshotOrder,
  mapping: Readonly<Record<string, string>>,
  also: (tx: Tx) => Promise<void>,
): Promise<void> {
  const fields = {
    ...{ name, owner, visibility: 'private' as const, diskFormat: 'raw', containerFormat: 'bare' },
    // The volumes have sizes of their own, whatever the flavor.
    ...{ minDiskGb: 0, minRamMb, isProtected: false, isHidden: false, tags: [] },
    properties: { ...properties, ...mapping },
  }
  await images.db.transaction(async (tx) => {
    await insertImage(tx, { id: imageId, fields, now: new Date(images.clock.now()) })
    await also(tx)
    await chargeImage(tx, owner, images.limits)
  })
}

/** As Nova does it: an image is active once it has content, and this one has none of its own. */
async function fillEmpty(images: Images, context: RequestContext, imageId: string): Promise<void> {
  const body = (async function* () {})()
  await uploadContent(images, context, { imageId, body, declaredBytes: 0 })
}

async function forget(
  { compute, images }: { readonly compute: Compute; readonly images: Images },
  context: RequestContext,
  imageId: string,
  kept: readonly KeptVolume[],
): Promise<void> {
  const tolerated = (error: unknown) => {
    if (!isFailure(error)) throw error
  }
  await removeImage(images, imageId).catch(tolerated)
  for (const { snapshot } of kept)
    await deleteSnapshot(compute, context, snapshot.id, { isForced: true }).catch(tolerated)
}
