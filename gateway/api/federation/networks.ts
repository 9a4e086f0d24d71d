import type { operations } from '#openapi/federation.gen.ts'
import { explainPath } from '../../app/networks/explain-path.ts'
import type { PathEnd } from '../../app/networks/path-verdict.ts'
import type { Handler } from '../../http/operation.ts'

/** GET /v1/network-path */
export const explainNetworkPath: Handler<operations['explainNetworkPath']> = async (call) => {
  const { app, query } = call
  const { from, to, checks, trace } = await explainPath(
    { db: app.db, cells: app.compute.cells },
    query,
  )
  return {
    body: {
      reaches: checks.every(({ holds }) => holds),
      from: endView(from),
      to: endView(to),
      checks: [...checks],
      ovn_trace: trace,
    },
  }
}

function endView({ address, port: end }: PathEnd) {
  const isServers = end?.port.deviceOwner.startsWith('compute:') === true
  return {
    address,
    port_id: end?.port.id ?? null,
    fixed_address: end?.fixedAddress ?? null,
    network_id: end?.network.id ?? null,
    network: end?.network.name ?? null,
    server_id: isServers ? end.port.deviceId : null,
    host: end?.place?.host ?? null,
  }
}
