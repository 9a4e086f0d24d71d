import { readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { fmtCreds } from '@nats-io/jwt'
import { createUser, fromSeed } from '@nats-io/nkeys'
import { Failure } from '#common/errors.ts'
import { withoutTrailing } from '#common/without-trailing.ts'
import { type Layout, makeFolders } from '../deployment/layout.ts'
import { secretFile } from '../deployment/secret-file.ts'
import { type ChosenDriver, type DeploymentState, loadState } from '../deployment/state.ts'
import { chooseDriver } from '../hypervisors/choose-driver.ts'
import type { LaunchedDriver } from '../hypervisors/launched-driver.ts'
import { withSettings } from '../hypervisors/with-settings.ts'
import { installPackages } from '../packages/install-packages.ts'
import { writeFileAtomically } from '../process/write-file-atomically.ts'
import { exchangeToken, type JoinAnswer } from './exchange-token.ts'
import { certificateFile, uplinkCredentialsFile } from './uplink.ts'

const KEY = 'uplink.nk'
/** Of a folder that joins again, until it has. */
const NEXT_KEY = 'uplink-next.nk'

export interface JoinOptions {
  readonly gateway: string
  readonly token: string
  readonly driver: LaunchedDriver | 'auto'
  /** Of the driver's own, by name. */
  readonly set?: Readonly<Record<string, string>>
}

export interface RedeemedToken {
  readonly driver: ChosenDriver
  /** Without a slash at its end. */
  readonly gatewayUrl: string
  readonly answer: JoinAnswer
  /** The deployment in this folder: it has joined before, as the same cell or host. */
  readonly known: DeploymentState | undefined
}

/**
 * Afterwards this folder has the credential of the token, and the gateway's certificate if the token names one. The
 * machine is checked before the token is used. A repeat with the same token is accepted. A folder that has joined
 * already keeps its identity and gets a new key, because the former one may be shut out. Throws `conflict` if the token
 * is for another cell or host than this folder.
 */
export async function redeemJoinToken(
  layout: Layout,
  options: JoinOptions,
  progress: (line: string) => void,
): Promise<RedeemedToken> {
  const known = loadState(layout)
  if (known !== undefined && known.joined === undefined && known.host === undefined)
    throw new Failure(
      'conflict',
      'This directory already has a deployment. ./weir up starts it; a cell or host that joins needs another directory: set WEIR_HOME.',
    )
  const driver = known?.driver ?? withSettings(chooseDriver(options.driver), options.set ?? {})
  progress(`Driver ${driver.name}: ${driver.why}`)
  makeFolders(layout)
  await installPackages(['base'], progress)
  const gatewayUrl = withoutTrailing(options.gateway, '/')
  progress(`Asking ${gatewayUrl} to be let in ...`)
  // Kept before it is shown: with the same key the same token is good again.
  const seedFile = await secretFile(layout, known === undefined ? KEY : NEXT_KEY, () =>
    new TextDecoder().decode(createUser().getSeed()),
  )
  const user = fromSeed(new TextEncoder().encode(readFileSync(seedFile, 'utf8')))
  const exchanged = await exchangeToken(gatewayUrl, options.token, user.getPublicKey())
  const { answer, certificate } = exchanged
  if (known !== undefined) assertSame(known, answer)
  const credentials = new TextDecoder().decode(fmtCreds(answer.credential, user))
  writeFileAtomically(uplinkCredentialsFile(layout), credentials)
  if (certificate !== undefined) writeFileAtomically(certificateFile(layout), certificate)
  if (known !== undefined) renameSync(seedFile, join(layout.secrets, KEY))
  return { driver, gatewayUrl, answer, known }
}

function assertSame({ cells, host }: DeploymentState, answer: JoinAnswer): void {
  const own = host ?? cells[0]
  const other = answer.host ?? answer.cell
  if (own?.id === other.id) return
  // A cell that has left is never let in again, nor is another of its name the same.
  if (host === undefined && answer.host === null && own?.name === other.name)
    throw new Failure(
      'conflict',
      `This directory is a cell ${other.name} that has left, and the token was for a new one. Nothing was changed here. At the gateway, run: ./weir cell leave ${other.name} --forget --yes; then join with another token from an empty folder (set WEIR_HOME).`,
    )
  throw new Failure(
    'conflict',
    `This token is for ${answer.host === null ? 'cell' : 'host'} ${other.name}, and this directory is ${host === undefined ? 'cell' : 'host'} ${own?.name}. Nothing was changed here; the token is used up.`,
  )
}
