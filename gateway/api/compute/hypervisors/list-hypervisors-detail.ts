import type { operations } from '#openapi/compute.gen.ts'
import { hostedServers } from '../../../app/hosts/hosted-servers.ts'
import { listHypervisors as listPage } from '../../../app/hosts/list-hypervisors.ts'
import type { Handler } from '../../../http/operation.ts'
import { pageLimit } from '../../../http/pagination.ts'
import { hostRecordId, hypervisorView } from '../../../views/hypervisor.ts'
import { nextPageLinks } from '../page.ts'
import { hostIdsOf } from './host-ids.ts'

export const listHypervisorsDetail: Handler<operations['listHypervisorsDetail']> = async (call) => {
  const { app, context, query } = call
  const limit = pageLimit(query.limit)
  const ids = hostIdsOf(context)
  const hosts = await listPage(app.db, query, { limit, ids })
  const servers = await hostedServers(app.db, hosts, query.with_servers)
  const options = { context, cells: app.compute.cells, ...servers }
  const last = hosts.at(-1)
  const next = nextPageLinks(call, 'hypervisors_links', {
    size: hosts.length,
    limit,
    last: last && String(hostRecordId(last, context)),
  })
  return { body: { hypervisors: hosts.map((host) => hypervisorView(host, options)), ...next } }
}
