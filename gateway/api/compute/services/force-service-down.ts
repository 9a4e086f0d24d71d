import type { operations } from '#openapi/compute.gen.ts'
import { serviceOnHost, setService } from '../../../app/hosts/set-service.ts'
import type { Handler } from '../../../http/operation.ts'

export const forceServiceDown: Handler<operations['forceServiceDown']> = async (call) => {
  const { app, context } = call
  const { host, binary, forced_down } = call.body
  const found = await serviceOnHost(app, host, binary)
  await setService(app.compute, context, found, { isForcedDown: forced_down })
  return { body: { service: { host, binary, forced_down } } }
}
