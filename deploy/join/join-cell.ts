import { Failure } from '#common/errors.ts'
import { type CellId, newId, parseId } from '#common/ids.ts'
import { createCellAccount } from '#gateway/bus/create-cell-account.ts'
import type { Layout } from '../deployment/layout.ts'
import { HOSTS_PER_CELL } from '../deployment/plan.ts'
import { type DeploymentState, saveState } from '../deployment/state.ts'
import { hostShare, sharesMachine } from '../hypervisors/host-share.ts'
import { keyPair, natsKeys } from '../nats/nats-keys.ts'
import { type JoinOptions, type RedeemedToken, redeemJoinToken } from './redeem-join-token.ts'
import { startCell } from './start-cell.ts'

export interface JoinCellOptions extends JoinOptions {
  readonly hosts?: number | undefined
}

/**
 * Afterwards this folder is a cell of the deployment behind the gateway: it has its own database and bus, and serves. A
 * join that was interrupted continues when the same command is given again. A folder that already is this cell gets a
 * new credential.
 */
export async function joinCell(
  layout: Layout,
  options: JoinCellOptions,
  progress: (line: string) => void,
): Promise<DeploymentState> {
  const letIn = await redeemJoinToken(layout, options, progress)
  const planned = await plan(layout, letIn, options.hosts ?? HOSTS_PER_CELL[letIn.driver.name])
  saveState(layout, planned)
  return startCell(layout, planned, progress)
}

async function plan(
  layout: Layout,
  { answer, gatewayUrl, driver, known }: RedeemedToken,
  hosts: number,
): Promise<DeploymentState> {
  const { cell, host, bus } = answer
  if (host !== null)
    throw new Failure(
      'invalid',
      `This token is for host ${host.name} of an existing cell. Use it with: ./weir host join`,
    )
  if (bus.leaf_url === null)
    throw new Failure(
      'unsupported',
      'The gateway has no address at which the bus of a cell on another machine can connect: set GATEWAY_NATS_LEAF_URL there.',
    )
  const joined = { gatewayUrl, leafUrl: bus.leaf_url }
  if (known !== undefined) return { ...known, joined }
  const id = parseId<CellId>(cell.id, 'cell id')
  const ownKey = keyPair(natsKeys(layout.nats).gatewaySeed).getPublicKey()
  return {
    version: 1,
    driver,
    region: '',
    gateways: [],
    joined,
    cells: [
      {
        id,
        name: cell.name,
        account: await createCellAccount(id, ownKey),
        hosts: Array.from({ length: hosts }, (_, index) => {
          return { id: newId(), name: `${cell.name}-${index + 1}` }
        }),
      },
    ],
    processes: {},
    ...(sharesMachine(driver) ? { hostShare: hostShare(hosts, layout.home) } : {}),
    isReady: false,
  }
}
