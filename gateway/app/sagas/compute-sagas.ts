import type { Saga } from '#common/saga/saga.ts'
import type { ComputeDeps } from '../compute.ts'
import { actOnServerSaga } from './act-on-server.ts'
import { changeCellSaga } from './change-cell.ts'
import { changeNicSaga } from './change-nic.ts'
import { changeVolumeSaga } from './change-volume.ts'
import { createServerSaga } from './create-server.ts'
import { createVolumeSaga } from './create-volume.ts'
import { createVolumeSnapshotSaga } from './create-volume-snapshot.ts'
import { deleteServerSaga } from './delete-server.ts'
import { deleteVolumeSaga } from './delete-volume.ts'
import { deleteVolumeSnapshotSaga } from './delete-volume-snapshot.ts'
import { extendVolumeSaga } from './extend-volume.ts'
import { changeEncryptionSaga, migrateVolumeSaga } from './migrate-volume.ts'
import { moveVolumeSaga } from './move-volume.ts'
import { reimageVolumeSaga } from './reimage-volume.ts'
import { retryBuildSaga } from './retry-build.ts'
import { revertVolumeSaga } from './revert-volume.ts'
import { swapVolumeSaga } from './swap-volume.ts'
import { uploadVolumeSaga } from './upload-volume.ts'

/** Every saga a gateway may have to take up from a process that is gone. */
export const COMPUTE_SAGAS: readonly Saga<ComputeDeps, never>[] = [
  changeCellSaga,
  changeNicSaga,
  actOnServerSaga,
  createServerSaga,
  deleteServerSaga,
  retryBuildSaga,
  createVolumeSaga,
  deleteVolumeSaga,
  extendVolumeSaga,
  uploadVolumeSaga,
  reimageVolumeSaga,
  revertVolumeSaga,
  moveVolumeSaga,
  migrateVolumeSaga,
  changeEncryptionSaga,
  changeVolumeSaga,
  swapVolumeSaga,
  createVolumeSnapshotSaga,
  deleteVolumeSnapshotSaga,
]
