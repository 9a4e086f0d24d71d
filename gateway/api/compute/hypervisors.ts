import type { operations } from '#openapi/compute.gen.ts'
import { hostedServers } from '../../app/hosts/host-state.ts'
import {
  allHypervisors,
  findHypervisor,
  type HostIds,
  hypervisorUptime,
  hypervisorUptimes,
  listHypervisors as readHypervisors,
  searchHypervisors as search,
} from '../../app/hosts/hypervisors.ts'
import type { RequestContext } from '../../app/request-context.ts'
import type { Call, Handler } from '../../http/operation.ts'
import { pageLimit } from '../../http/pagination.ts'
import {
  type HypervisorViewOptions,
  hostRecordId,
  hypervisorSummary,
  hypervisorView,
  statisticsView,
} from '../../views/hypervisor.ts'
import { isSince } from '../../views/since.ts'
import { nextPageLinks } from './page.ts'

/** How a client of this microversion names hosts and services. */
export function hostIdsOf(context: RequestContext): HostIds {
  return isSince(context, '2.53') ? 'uuid' : 'number'
}

type Hypervisor = Awaited<ReturnType<typeof readHypervisors>>[number]
type Listing = Call<operations['listHypervisors'] | operations['listHypervisorsDetail']>

/** The body of a page of hypervisors, each shown by `view` with what `more` finds out besides. */
async function hypervisorPage<V>(
  call: Listing,
  view: (host: Hypervisor, options: HypervisorViewOptions) => V,
  more: (
    hosts: readonly Hypervisor[],
  ) => Promise<Partial<HypervisorViewOptions>> = async () => ({}),
) {
  const { app, context, query } = call
  const limit = pageLimit(query.limit)
  const ids = hostIdsOf(context)
  const hosts = await readHypervisors(app.db, query, { limit, ids })
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

type Hosts = Parameters<typeof hypervisorUptimes>[2]

/** The arguments of a hypervisor's view; from 2.88 on uptimes are part of every view. */
async function shownUptimes(
  { app, context }: Pick<Call<never>, 'app' | 'context'>,
  hosts: Hosts,
): Promise<Pick<HypervisorViewOptions, 'uptimes'>> {
  if (!isSince(context, '2.88')) return {}
  return { uptimes: await hypervisorUptimes(app.compute, context, hosts) }
}

const listHypervisorServers: Handler<operations['listHypervisorServers']> = async (call) => {
  const { app, context, params } = call
  const hosts = await search(app.db, params.hostname_pattern)
  const servers = await hostedServers(app.db, hosts, true)
  const options = { context, cells: app.compute.cells, ...servers }
  return { body: { hypervisors: hosts.map((host) => hypervisorSummary(host, options)) } }
}

const listHypervisors: Handler<operations['listHypervisors']> = async (call) => ({
  body: await hypervisorPage(call, hypervisorSummary),
})

const listHypervisorsDetail: Handler<operations['listHypervisorsDetail']> = async (call) => ({
  body: await hypervisorPage(call, hypervisorView, (hosts) => shownUptimes(call, hosts)),
})

const searchHypervisors: Handler<operations['searchHypervisors']> = async (call) => {
  const { app, context, params } = call
  const hosts = await search(app.db, params.hostname_pattern)
  const options = { context, cells: app.compute.cells }
  return { body: { hypervisors: hosts.map((host) => hypervisorSummary(host, options)) } }
}

const showHypervisor: Handler<operations['showHypervisor']> = async (call) => {
  const { app, context, params, query } = call
  const host = await findHypervisor(app.db, params.hypervisor_id, hostIdsOf(context))
  const servers = await hostedServers(app.db, [host], query.with_servers)
  const uptimes = await shownUptimes(call, [host])
  const options = { context, cells: app.compute.cells, ...servers, ...uptimes }
  return { body: { hypervisor: hypervisorView(host, options) } }
}

const showHypervisorStatistics: Handler<operations['showHypervisorStatistics']> = async ({
  app,
}) => {
  const hosts = await allHypervisors(app.db)
  return { body: { hypervisor_statistics: statisticsView(hosts) } }
}

const showHypervisorUptime: Handler<operations['showHypervisorUptime']> = async (call) => {
  const { app, context, params } = call
  const { cells } = app.compute
  const host = await findHypervisor(app.db, params.hypervisor_id, hostIdsOf(context))
  const uptime = await hypervisorUptime(app.compute, context, host)
  return { body: { hypervisor: { ...hypervisorSummary(host, { context, cells }), uptime } } }
}

export const hypervisorHandlers = {
  listHypervisorServers,
  listHypervisors,
  listHypervisorsDetail,
  searchHypervisors,
  showHypervisor,
  showHypervisorStatistics,
  showHypervisorUptime,
}
