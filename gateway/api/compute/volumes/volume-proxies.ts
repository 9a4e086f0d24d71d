import { Failure } from '#common/errors.ts'
import type { Handler } from '../../../http/operation.ts'

/** GET /os-volumes and /os-volumes/detail */
export const listVolumes: Handler = async () => ({ body: { volumes: [] } })

/** GET /os-snapshots and /os-snapshots/detail */
export const listSnapshots: Handler = async () => ({ body: { snapshots: [] } })

/** Whatever names a volume. */
export const noVolume: Handler = async ({ params }) => {
  throw new Failure('not-found', `Volume ${params['volume_id']} could not be found.`)
}

/** Whatever names a snapshot of a volume. */
export const noSnapshot: Handler = async ({ params }) => {
  throw new Failure('not-found', `Snapshot ${params['snapshot_id']} could not be found.`)
}

/** POST /os-volumes and /os-snapshots */
export const refuseVolumes: Handler = async () => {
  throw new Failure('invalid', 'There is no block storage service here: servers have local disks.')
}
