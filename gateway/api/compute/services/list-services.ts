import type { operations } from '#openapi/compute.gen.ts'
import { listServices as list } from '../../../app/hosts/list-services.ts'
import type { Handler } from '../../../http/operation.ts'
import { serviceView } from '../../../views/service.ts'

export const listServices: Handler<operations['listServices']> = async (call) => {
  const { app, context, query } = call
  const hosts = await list(app.db, query)
  const { cells } = app.compute
  return { body: { services: hosts.map((host) => serviceView(host, context, cells)) } }
}
