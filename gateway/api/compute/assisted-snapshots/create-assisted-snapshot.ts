import type { operations } from '#openapi/compute.gen.ts'
import { refuseAssistedSnapshot } from '../../../app/servers/refuse-assisted-snapshot.ts'
import type { Handler } from '../../../http/operation.ts'

export const createAssistedSnapshot: Handler<operations['createAssistedSnapshot']> = async (call) =>
  refuseAssistedSnapshot(call.body.snapshot.volume_id)
