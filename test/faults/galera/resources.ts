import { randomUUID } from 'node:crypto'
import { systemClock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import { newId, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import {
  aggregateOf,
  createAggregate,
  deleteAggregate,
} from '#gateway/app/aggregates/aggregates.ts'
import { createImage } from '#gateway/app/images/create-image.ts'
import { deleteImage } from '#gateway/app/images/delete-image.ts'
import type { Images } from '#gateway/app/images/images.ts'
import { addImageMember } from '#gateway/app/images/members.ts'
import { addImageTag } from '#gateway/app/images/update-image.ts'
import { insertAggregateHost, lockAggregates } from '#gateway/db/aggregates.ts'
import {
  deleteServerGroup,
  insertServerGroup,
  lockServerGroup,
  membersOfGroup,
  queueGroupMembers,
} from '#gateway/db/server-groups.ts'
import { insertSnapshot, snapshotsOfVolume } from '#gateway/db/volume-snapshots.ts'
import { insertVolume, lockVolume, removeVolume } from '#gateway/db/volumes.ts'
import type { Race } from './parents.ts'

const SOMEBODY = { requestId: 'req-1', userId: 'somebody' }

const IMAGE = { name: 'i', disk_format: 'raw', container_format: 'bare' } as const

/** The image service of the gateway that uses this database, whose images have no content. `limit`: of images of a project. */
export function imagesOn(db: Database, limit = 1_000): Images {
  const limits = { images: limit, bytes: 0 }
  return { db, clock: systemClock, limits } as Partial<Images> as Images
}

/** Of server groups, aggregates and images. */
export function groupAndImageRaces([here, there]: readonly [Database, Database]): Readonly<
  Record<string, Race>
> {
  const owner = { projectId: randomUUID().replaceAll('-', ''), isAdmin: true }
  const image = async () =>
    (await createImage(imagesOn(here), owner, { ...IMAGE, visibility: 'shared' })).id
  return {
    'a member of a server group': {
      parent: async () => {
        const id = randomUUID()
        const group = { id, projectId: owner.projectId, userId: 'u', name: 'g' }
        await here.transaction((tx) =>
          insertServerGroup(tx, { ...group, policy: 'affinity', maxPerHost: null }),
        )
        return id
      },
      child: (id) =>
        here.transaction(async (tx) => {
          if ((await lockServerGroup(tx, id)) === undefined) return
          queueGroupMembers(tx, { groupId: id, userId: 'u', serverIds: [randomUUID()] })
        }),
      remove: (id) =>
        there.transaction(async (tx) => {
          if ((await lockServerGroup(tx, id)) === undefined) return
          if ((await membersOfGroup(tx, id)).length === 0) await deleteServerGroup(tx, id)
        }),
      orphans:
        'select server_id from server_group_members where group_id not in (select id from server_groups)',
    },
    'a host of an aggregate': {
      parent: async () =>
        String((await createAggregate(here, SOMEBODY, { name: randomUUID(), zone: null })).id),
      // As `addAggregateHost`, of a host that is in no cell.
      child: (id) =>
        here.transaction(async (tx) => {
          const aggregate = aggregateOf(await lockAggregates(tx), id)
          await insertAggregateHost(tx, aggregate.id, { hostId: randomUUID(), name: 'h' })
        }),
      remove: (id) => deleteAggregate(there, SOMEBODY, id),
      orphans:
        'select host_id from aggregate_hosts where aggregate_id not in (select id from aggregates)',
    },
    'a member of an image': {
      parent: image,
      child: (id) => addImageMember(imagesOn(here), owner, id, randomUUID().replaceAll('-', '')),
      remove: (id) => deleteImage(imagesOn(there), owner, id),
      orphans: 'select member from image_members where image_id not in (select id from images)',
    },
    'a tag of an image': {
      parent: image,
      child: (id) => addImageTag(imagesOn(here), owner, id, 'green'),
      remove: (id) => deleteImage(imagesOn(there), owner, id),
      orphans: 'select tag from image_tags where image_id not in (select id from images)',
    },
  }
}

/** Of volumes. The rows are written as by `createSnapshot` and by the saga `delete-volume`. */
export function volumeRaces([here, there]: readonly [Database, Database]): Readonly<
  Record<string, Race>
> {
  const of = { projectId: randomUUID().replaceAll('-', ''), userId: 'u', typeId: randomUUID() }
  const named = { name: 'v', description: null, metadata: {} }
  const anywhere = { cellId: null, sagaId: null, sizeGb: 1 } as const
  return {
    'a snapshot of a volume': {
      parent: async () => {
        const id = newId<VolumeId>()
        const empty = { isBootable: false, encryption: null, isMultiattach: false, source: null }
        const plain = { specs: {}, zone: null, status: 'available', fault: null } as const
        await here.transaction((tx) =>
          insertVolume(tx, {
            ...of,
            ...named,
            ...anywhere,
            ...plain,
            ...empty,
            id,
            imageMetadata: null,
          }),
        )
        return id
      },
      child: (id) =>
        here.transaction(async (tx) => {
          const volume = await lockVolume(tx, id)
          if (volume === undefined) return
          const snapshotId = newId<VolumeSnapshotId>()
          await insertSnapshot(tx, {
            ...of,
            ...named,
            ...anywhere,
            id: snapshotId,
            volumeId: volume.id,
          })
        }),
      remove: (id) =>
        there.transaction(async (tx) => {
          const volume = await lockVolume(tx, id)
          if (volume === undefined) return
          if ((await snapshotsOfVolume(tx, volume.id)).length === 0)
            await removeVolume(tx, volume.id)
        }),
      orphans: 'select id from volume_snapshots where volume_id not in (select id from volumes)',
    },
  }
}
