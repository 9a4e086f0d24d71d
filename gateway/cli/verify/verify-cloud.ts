import type { Cell } from '../cells/cell-listing.ts'
import { endOfFindings, FINDINGS, type Finding } from '../findings.ts'
import { allHosts } from '../hosts/all-hosts.ts'
import type { Host } from '../hosts/host-listing.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { listView } from '../output/view.ts'

/** Shows whether every cell is reachable and every host up; fails if one is not. */
export async function verifyCloud(operator: Operator, options: ViewOptions): Promise<void> {
  await present(operator, options, async (session) => {
    const { cells } = await session.federation.ask('get', '/v1/cells')
    const hosts = await allHosts(session)
    const findings = [...cells.map(ofCell), ...hosts.map((host) => ofHost(host, cells))]
    endOfFindings(operator, findings)
    return listView(findings, FINDINGS)
  })
}

function ofCell({ name, is_reachable, loss, needs_resync, is_enabled, summary }: Cell): Finding {
  const check = `cell ${name}`
  if (loss !== null) return { check, result: 'failed', detail: 'it was declared lost' }
  if (!is_reachable) return { check, result: 'failed', detail: 'it is unreachable' }
  if (needs_resync)
    return { check, result: 'unknown', detail: 'the gateways are reading a full copy of the cell' }
  const servers = `servers: ${summary?.servers ?? 0}`
  return { check, result: 'ok', detail: is_enabled ? servers : `${servers}, disabled` }
}

function ofHost(
  { name, cell_id, is_up, down_reason, is_cordoned, fence_device, servers, routing_problem }: Host,
  cells: readonly Cell[],
): Finding {
  const cell = cells.find(({ id }) => id === cell_id)
  const check = `host ${name}`
  if (cell?.is_reachable !== true)
    return { check, result: 'unknown', detail: `its cell ${cell?.name ?? cell_id} is unreachable` }
  if (!is_up)
    return { check, result: 'failed', detail: down_reason ?? 'its compute is unreachable' }
  if (fence_device?.problem != null) {
    const detail = `it cannot be fenced by ${fence_device.name}: ${fence_device.problem}`
    return { check, result: 'failed', detail }
  }
  const detail = [
    `servers: ${servers}`,
    ...(is_cordoned ? ['cordoned'] : []),
    ...(routing_problem === null ? [] : [`without floating IPs: ${routing_problem}`]),
  ].join(', ')
  return { check, result: 'ok', detail }
}
