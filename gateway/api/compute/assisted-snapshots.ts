import type { operations } from '#openapi/compute.gen.ts'
import { refuseAssistedSnapshot, volumeToDeleteFrom } from '../../app/servers/acts/refuse-action.ts'
import type { Handler } from '../../http/operation.ts'

const createAssistedSnapshot: Handler<operations['createAssistedSnapshot']> = async (call) =>
  refuseAssistedSnapshot(call.body.snapshot.volume_id)

const deleteAssistedSnapshot: Handler<operations['deleteAssistedSnapshot']> = async (call) =>
  refuseAssistedSnapshot(volumeToDeleteFrom(call.query.delete_info))

export const assistedSnapshotHandlers = { createAssistedSnapshot, deleteAssistedSnapshot }
