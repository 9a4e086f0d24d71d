import type { operations } from '#openapi/compute.gen.ts'
import { searchHypervisors as search } from '../../../app/hosts/list-hypervisors.ts'
import type { Handler } from '../../../http/operation.ts'
import { hypervisorSummary } from '../../../views/hypervisor.ts'

export const searchHypervisors: Handler<operations['searchHypervisors']> = async (call) => {
  const { app, context, params } = call
  const hosts = await search(app.db, params.hostname_pattern)
  const options = { context, cells: app.compute.cells }
  return { body: { hypervisors: hosts.map((host) => hypervisorSummary(host, options)) } }
}
