import type { operations } from '#openapi/compute.gen.ts'
import { listServingHosts } from '../../../app/hosts/list-serving-hosts.ts'
import type { Handler } from '../../../http/operation.ts'
import { hostSummary } from '../../../views/host.ts'

export const listHosts: Handler<operations['listHosts']> = async ({ app, query }) => {
  const hosts = await listServingHosts(app.db, query.zone)
  return { body: { hosts: hosts.map(hostSummary) } }
}
