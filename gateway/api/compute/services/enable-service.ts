import type { operations } from '#openapi/compute.gen.ts'
import { serviceOnHost, setService } from '../../../app/hosts/set-service.ts'
import type { Handler } from '../../../http/operation.ts'

export const enableService: Handler<operations['enableService']> = async (call) => {
  const { app, context } = call
  const { host, binary } = call.body
  const found = await serviceOnHost(app, host, binary)
  await setService(app.compute, context, found, { isDisabled: false, disabledReason: null })
  return { body: { service: { host, binary, status: 'enabled' } } }
}
