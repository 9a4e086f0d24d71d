import type { operations } from '#openapi/compute.gen.ts'
import { idempotencyKey } from '../../../app/idempotency-key.ts'
import { createServers } from '../../../app/servers/create-servers.ts'
import type { Handler } from '../../../http/operation.ts'
import { resourceLinks } from '../../../views/links.ts'
import { serverRequest } from './server-request.ts'

export const createServer: Handler<operations['createServer']> = async (call) => {
  const { app, context, body, links, raw } = call
  const key = idempotencyKey(context, raw.header('idempotency-key'), body)
  const request = serverRequest(body)
  const promised = await createServers(app, context, request, key)
  if (body.server.return_reservation_id === true)
    return { body: { reservation_id: promised.reservationId } }
  const [id = ''] = promised.serverIds
  // Without a port none has an effect, and Nova answers with what was asked for, or would have been.
  const asked = request.securityGroups.length > 0 ? request.securityGroups : ['default']
  const groups = promised.securityGroups.length > 0 ? promised.securityGroups : asked
  const self = links.to(`/compute/v2.1/servers/${id}`)
  const server = {
    id,
    links: resourceLinks(links, `/servers/${id}`),
    security_groups: groups.map((name) => ({ name })),
    'OS-DCF:diskConfig': request.diskConfig,
    ...(promised.adminPassword === null ? {} : { adminPass: promised.adminPassword }),
  }
  return { body: { server }, headers: { Location: self } }
}
