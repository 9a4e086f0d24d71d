import type { Executor } from '#common/db/database.ts'
import type { HostId, VolumeId } from '#common/ids.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'
import { hostsOfStore } from '../db/stores.ts'
import { findVolume } from '../db/volumes.ts'
import type { Volume } from './volume.ts'

type BuildVolumes = NonNullable<InstanceBuild['volumes']>

/** The hosts that can have all of these volumes; none where the cell does not have one of them whole. */
export async function hostsOfVolumes(
  db: Executor,
  volumes: BuildVolumes,
): Promise<ReadonlySet<HostId>> {
  let hosts: readonly HostId[] | undefined
  for (const each of volumes) {
    const volume = await findWhole(db, each)
    const reaching = volume === undefined ? [] : await hostsOfStore(db, volume.storeId)
    hosts = hosts === undefined ? reaching : hosts.filter((host) => reaching.includes(host))
  }
  return new Set(hosts)
}

/** The build as its host gets it, with the stores of its volumes. One that is gone has none, and no host builds with it. */
export async function withStores(db: Executor, build: InstanceBuild): Promise<InstanceBuild> {
  if (build.volumes === undefined) return build
  const volumes = build.volumes.map(async (each) => {
    const volume = await findWhole(db, each)
    return volume === undefined ? each : { ...each, store: volume.storeId }
  })
  return { ...build, volumes: await Promise.all(volumes) }
}

async function findWhole(
  db: Executor,
  { volumeId, volumeAttempt }: BuildVolumes[number],
): Promise<Volume | undefined> {
  const volume = await findVolume(db, volumeId as VolumeId)
  return volume?.attempt === volumeAttempt && volume.state === 'available' ? volume : undefined
}
