import type { operations } from '#openapi/compute.gen.ts'
import type { WireTopology } from '#openapi/wire/lookup.ts'
import { isAllowed } from '../../app/policy.ts'
import {
  clearServerPassword as clearServersPassword,
  serverDiagnostics,
  serverPassword,
  serverTopology,
} from '../../app/servers/guest-info.ts'
import type { Handler } from '../../http/operation.ts'
import { diagnosticsView } from '../../views/diagnostics.ts'
import { isSince } from '../../views/since.ts'

const clearServerPassword: Handler = async (call) => {
  const { app, context, params } = call
  await clearServersPassword(app.compute, context, params['server_id']!)
  return {}
}

const showServerDiagnostics: Handler<operations['showServerDiagnostics']> = async (call) => {
  const { app, context, params } = call
  const figures = await serverDiagnostics(app.compute, context, params.server_id)
  // Until 2.47 everything is shown as the driver names it.
  return { body: isSince(context, '2.48') ? diagnosticsView(figures) : figures.own }
}

const showServerPassword: Handler<operations['showServerPassword']> = async (call) => {
  const { app, context, params } = call
  const password = await serverPassword(app.compute, context, params.server_id)
  return { body: { password: password ?? '' } }
}

const showServerTopology: Handler<operations['showServerTopology']> = async (call) => {
  const { app, context, params } = call
  const topology = await serverTopology(app.compute, context, params.server_id)
  const showsHost = isAllowed(context, 'compute:server:topology:host:index')
  return { body: topologyView(topology, showsHost) }
}

/** Handlers of diagnostics, password and topology of a guest. */
export const guestInfoHandlers = {
  clearServerPassword,
  showServerDiagnostics,
  showServerPassword,
  showServerTopology,
}

/** Guests here have no threads that are each other's siblings. `showsHost`: which of the host's CPUs and nodes it has. */
function topologyView(topology: WireTopology | null, showsHost: boolean) {
  return {
    nodes: (topology?.nodes ?? []).map(({ vcpus, memoryMb, hostNode, pins }) => ({
      memory_mb: memoryMb,
      siblings: [],
      vcpu_set: vcpus,
      ...(showsHost && {
        ...(hostNode !== null && { host_node: hostNode }),
        cpu_pinning: Object.fromEntries(pins.map((cpu, index) => [String(vcpus[index]), cpu])),
      }),
    })),
    pagesize_kb: topology?.pageKib ?? null,
  }
}
