import type { operations } from '#openapi/compute.gen.ts'
import { hostedServers } from '../../../app/hosts/hosted-servers.ts'
import { listHypervisors } from '../../../app/hosts/list-hypervisors.ts'
import type { Call } from '../../../http/operation.ts'
import { pageLimit } from '../../../http/pagination.ts'
import { type HypervisorViewOptions, hostRecordId } from '../../../views/hypervisor.ts'
import { nextPageLinks } from '../page.ts'
import { hostIdsOf } from './host-ids.ts'

type Hypervisor = Awaited<ReturnType<typeof listHypervisors>>[number]
type Listing = Call<operations['listHypervisors'] | operations['listHypervisorsDetail']>

/** The body of a page of hypervisors, each shown by `view` with what `more` finds out besides. */
export async function hypervisorPage<V>(
  call: Listing,
  view: (host: Hypervisor, options: HypervisorViewOptions) => V,
  more: (
    hosts: readonly Hypervisor[],
  ) => Promise<Partial<HypervisorViewOptions>> = async () => ({}),
) {
  const { app, context, query } = call
  const limit = pageLimit(query.limit)
  const ids = hostIdsOf(context)
  const hosts = await listHypervisors(app.db, query, { limit, ids })
  const servers = await hostedServers(app.db, hosts, query.with_servers)
  const options = { context, cells: app.compute.cells, ...servers, ...(await more(hosts)) }
  const last = hosts.at(-1)
  const next = nextPageLinks(call, 'hypervisors_links', {
    size: hosts.length,
    limit,
    last: last && String(hostRecordId(last, context)),
  })
  return { hypervisors: hosts.map((host) => view(host, options)), ...next }
}
