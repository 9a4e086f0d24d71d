import type { operations } from '#openapi/compute.gen.ts'
import { updateHost as update } from '../../../app/hosts/update-host.ts'
import type { Handler } from '../../../http/operation.ts'

export const updateHost: Handler<operations['updateHost']> = async (call) => {
  const { app, context, params, body } = call
  const isEnabled = isYes(body.status)
  const maintenance = isYes(body.maintenance_mode)
  await update(app.compute, context, params.host_name, {
    ...(isEnabled !== undefined && { isEnabled }),
    ...(maintenance !== undefined && { maintenance }),
  })
  return { body: { host: params.host_name, status: isEnabled === true ? 'enabled' : 'disabled' } }
}

function isYes(word: string | undefined): boolean | undefined {
  return word === undefined ? undefined : word.toLowerCase() === 'enable'
}
