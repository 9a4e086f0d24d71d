import type { operations } from '#openapi/compute.gen.ts'
import { serviceChange } from '../../../app/hosts/service-change.ts'
import { serviceById, setService } from '../../../app/hosts/set-service.ts'
import type { Handler } from '../../../http/operation.ts'
import { serviceView } from '../../../views/service.ts'

export const updateService: Handler<operations['updateService']> = async (call) => {
  const { app, context, params, body } = call
  const change = serviceChange(body)
  const found = await serviceById(app.compute, params.service_id)
  const host = await setService(app.compute, context, found, change)
  return { body: { service: serviceView(host, context, app.compute.cells) } }
}
