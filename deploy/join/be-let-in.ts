import { readFileSync } from 'node:fs'
import { fmtCreds } from '@nats-io/jwt'
import { createUser, fromSeed } from '@nats-io/nkeys'
import { Failure } from '#common/errors.ts'
import { withoutTrailing } from '#common/without-trailing.ts'
import { type Layout, makeFolders } from '../deployment/layout.ts'
import { secretFile } from '../deployment/secret-file.ts'
import { type ChosenDriver, loadState } from '../deployment/state.ts'
import { chooseDriver } from '../hypervisors/choose-driver.ts'
import type { LaunchedDriver } from '../hypervisors/launched-driver.ts'
import { withSettings } from '../hypervisors/with-settings.ts'
import { installPackages } from '../packages/install-packages.ts'
import { writeFileAtomically } from '../process/write-file-atomically.ts'
import { exchangeToken, type JoinAnswer } from './exchange-token.ts'
import { certificateFile, uplinkCredentialsFile } from './uplink.ts'

export interface JoinOptions {
  readonly gateway: string
  readonly token: string
  readonly driver: LaunchedDriver | 'auto'
  /** Of the driver's own, by name. */
  readonly set?: Readonly<Record<string, string>>
}

export interface LetIn {
  readonly driver: ChosenDriver
  /** Without a slash at its end. */
  readonly gatewayUrl: string
  readonly answer: JoinAnswer
}

/**
 * Afterwards this folder holds the credential that the token is for, and the gateway's certificate where the token names
 * one. What the machine lacks is found out before the token is used. A repeat with the same token is let in again.
 */
export async function beLetIn(
  layout: Layout,
  options: JoinOptions,
  progress: (line: string) => void,
): Promise<LetIn> {
  if (loadState(layout) !== undefined)
    throw new Failure(
      'conflict',
      'There is a deployment in this folder already. ./weir up starts it; whatever joins needs a folder of its own: set WEIR_HOME.',
    )
  const driver = withSettings(chooseDriver(options.driver), options.set ?? {})
  progress(`Driver ${driver.name}: ${driver.why}`)
  makeFolders(layout)
  await installPackages(['base'], progress)
  const gatewayUrl = withoutTrailing(options.gateway, '/')
  progress(`Asking ${gatewayUrl} to be let in ...`)
  // Kept before it is shown: with the same key the same token is good again.
  const seedFile = await secretFile(layout, 'uplink.nk', () =>
    new TextDecoder().decode(createUser().getSeed()),
  )
  const user = fromSeed(new TextEncoder().encode(readFileSync(seedFile, 'utf8')))
  const exchanged = await exchangeToken(gatewayUrl, options.token, user.getPublicKey())
  const { answer, certificate } = exchanged
  const credentials = new TextDecoder().decode(fmtCreds(answer.credential, user))
  writeFileAtomically(uplinkCredentialsFile(layout), credentials)
  if (certificate !== undefined) writeFileAtomically(certificateFile(layout), certificate)
  return { driver, gatewayUrl, answer }
}
