import { readFileSync } from 'node:fs'
import { fmtCreds } from '@nats-io/jwt'
import { createUser, fromSeed } from '@nats-io/nkeys'
import { Failure } from '#common/errors.ts'
import { type CellId, newId, parseId } from '#common/ids.ts'
import { createCellAccount } from '#gateway/bus/create-cell-account.ts'
import { type Layout, makeFolders } from '../deployment/layout.ts'
import { HOSTS_PER_CELL } from '../deployment/plan.ts'
import { secretFile } from '../deployment/secret-file.ts'
import { type DeploymentState, loadState, saveState } from '../deployment/state.ts'
import { chooseDriver } from '../hypervisors/choose-driver.ts'
import { hostShare } from '../hypervisors/host-share.ts'
import type { LaunchedDriver } from '../hypervisors/launched-driver.ts'
import { keyPair, natsKeys } from '../nats/nats-keys.ts'
import { installPackages } from '../packages/install-packages.ts'
import { writeFileAtomically } from '../process/write-file-atomically.ts'
import { type Exchanged, exchangeToken } from './exchange-token.ts'
import { startCell } from './start-cell.ts'
import { certificateFile, uplinkCredentialsFile } from './uplink.ts'

export interface JoinOptions {
  readonly gateway: string
  readonly token: string
  readonly driver: LaunchedDriver | 'auto'
  readonly hosts?: number | undefined
}

/**
 * Afterwards this folder is a cell of the deployment behind the gateway: it has its own database and bus, and serves.
 * What the machine lacks is found out before the token is used. A join that broke off goes on when the same command is
 * given again.
 */
export async function joinCell(
  layout: Layout,
  options: JoinOptions,
  progress: (line: string) => void,
): Promise<DeploymentState> {
  if (loadState(layout) !== undefined)
    throw new Failure(
      'conflict',
      'There is a deployment in this folder already. ./weir up starts it; a new cell needs a folder of its own: set WEIR_HOME.',
    )
  const driver = chooseDriver(options.driver)
  progress(`Driver ${driver.name}: ${driver.why}`)
  makeFolders(layout)
  await installPackages(['base'], progress)
  const gatewayUrl = options.gateway.replace(/\/+$/, '')
  progress(`Asking ${gatewayUrl} to be let in ...`)
  // Kept before it is shown: with the same key the same token is good again.
  const seedFile = await secretFile(layout, 'uplink.nk', () =>
    new TextDecoder().decode(createUser().getSeed()),
  )
  const user = fromSeed(new TextEncoder().encode(readFileSync(seedFile, 'utf8')))
  const exchanged = await exchangeToken(gatewayUrl, options.token, user.getPublicKey())
  const { answer, certificate } = exchanged
  writeFileAtomically(
    uplinkCredentialsFile(layout),
    new TextDecoder().decode(fmtCreds(answer.credential, user)),
  )
  if (certificate !== undefined) writeFileAtomically(certificateFile(layout), certificate)
  const hosts = options.hosts ?? HOSTS_PER_CELL[driver.name]
  const planned = await plan(layout, exchanged, { gatewayUrl, driver, hosts })
  saveState(layout, planned)
  return startCell(layout, planned, progress)
}

interface Chosen {
  readonly gatewayUrl: string
  readonly driver: DeploymentState['driver']
  readonly hosts: number
}

async function plan(
  layout: Layout,
  { answer }: Exchanged,
  { gatewayUrl, driver, hosts }: Chosen,
): Promise<DeploymentState> {
  const { cell, host, bus } = answer
  if (host !== null)
    throw new Failure('invalid', `This token is for host ${host.name}, and not for a cell.`)
  if (bus.leaf_url === null)
    throw new Failure(
      'unsupported',
      'The gateway names no address for the bus of a cell elsewhere.',
    )
  const id = parseId<CellId>(cell.id, 'cell id')
  const ownKey = keyPair(natsKeys(layout.nats).gatewaySeed).getPublicKey()
  return {
    version: 1,
    driver,
    region: '',
    gateways: [],
    joined: { gatewayUrl, leafUrl: bus.leaf_url },
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
    ...(driver.name === 'fake' ? {} : { hostShare: hostShare(hosts, layout.home) }),
    isReady: false,
  }
}
