import type { operations } from '#openapi/compute.gen.ts'
import { hostedServers } from '../../../app/hosts/hosted-servers.ts'
import { searchHypervisors as search } from '../../../app/hosts/list-hypervisors.ts'
import type { Handler } from '../../../http/operation.ts'
import { hypervisorSummary } from '../../../views/hypervisor.ts'

export const listHypervisorServers: Handler<operations['listHypervisorServers']> = async (call) => {
  const { app, context, params } = call
  const hosts = await search(app.db, params.hostname_pattern)
  const servers = await hostedServers(app.db, hosts, true)
  const options = { context, cells: app.compute.cells, ...servers }
  return { body: { hypervisors: hosts.map((host) => hypervisorSummary(host, options)) } }
}
