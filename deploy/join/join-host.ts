import { Failure } from '#common/errors.ts'
import { type CellId, type HostId, parseId } from '#common/ids.ts'
import type { Layout } from '../deployment/layout.ts'
import { type DeploymentState, saveState } from '../deployment/state.ts'
import { hostShare, sharesMachine } from '../hypervisors/host-share.ts'
import { type JoinOptions, type RedeemedToken, redeemJoinToken } from './redeem-join-token.ts'
import { startHost } from './start-host.ts'

/**
 * Afterwards this folder is a host of a cell of the deployment behind the gateway, and the cell has sent it a request.
 * A join that was interrupted continues when the same command is given again. A folder that already is this host gets a
 * new credential.
 */
export async function joinHost(
  layout: Layout,
  options: JoinOptions,
  progress: (line: string) => void,
): Promise<DeploymentState> {
  const planned = plan(layout, await redeemJoinToken(layout, options, progress))
  saveState(layout, planned)
  return startHost(layout, planned, progress)
}

function plan(
  { home }: Layout,
  { answer, gatewayUrl, driver, known }: RedeemedToken,
): DeploymentState {
  const { cell, host, bus, image_url: imageUrl } = answer
  if (host === null)
    throw new Failure(
      'invalid',
      `This token is for the new cell ${cell.name}. Use it with: ./weir cell join`,
    )
  const reached = { gatewayUrl, busUrl: bus.url, imageUrl }
  if (known?.host !== undefined) return { ...known, host: { ...known.host, ...reached } }
  return {
    version: 1,
    driver,
    region: '',
    gateways: [],
    cells: [],
    host: {
      id: parseId<HostId>(host.id, 'host id'),
      name: host.name,
      cell: { id: parseId<CellId>(cell.id, 'cell id'), name: cell.name },
      ...reached,
    },
    processes: {},
    ...(sharesMachine(driver) ? { hostShare: hostShare(1, home) } : {}),
    isReady: false,
  }
}
