import type { operations } from '#openapi/compute.gen.ts'
import { deleteService as remove } from '../../../app/hosts/delete-service.ts'
import type { Handler } from '../../../http/operation.ts'
import { hostIdsOf } from '../hypervisors/host-ids.ts'

export const deleteService: Handler<operations['deleteService']> = async (call) => {
  const { app, context, params } = call
  await remove(app.compute, context, { id: params.service_id, ids: hostIdsOf(context) })
  return {}
}
