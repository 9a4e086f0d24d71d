import type { Permissions } from '@nats-io/jwt'
import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { CellId } from '#common/ids.ts'
import type { Secrets } from '#common/secrets.ts'
import type { AccountPublisher } from '../bus/account-keeper.ts'
import { createCellAccount, type OwnedCellAccount } from '../bus/create-cell-account.ts'
import { signUser } from '../bus/sign-user.ts'
import {
  type CellAccountRecord,
  insertCellAccount,
  revokeCellAccounts,
} from '../db/cell-accounts.ts'

/** The keys of a gateway that may create accounts on the bus. */
export interface AccessRight {
  /** Public nkey of the gateways' account. */
  readonly gatewayKey: string
  readonly keeper: AccountPublisher
  /** How long signed credentials are valid, in seconds. */
  readonly credentialLifetimeS: number
}

/**
 * The keys and accounts that may act as a cell on the bus. Decisions are written in a transaction of the caller's;
 * `keep` then carries them out on the bus, and a reconciler does where `keep` has not.
 */
export class CellAccess {
  readonly #secrets: Secrets
  readonly #right: AccessRight | undefined

  /** Without a right every method throws `unsupported`. */
  constructor(secrets: Secrets, right: AccessRight | undefined) {
    this.#secrets = secrets
    this.#right = right
  }

  /** False: cells can be neither admitted nor shut out here. */
  get isThere(): boolean {
    return this.#right !== undefined
  }

  /** A new account, which is nowhere yet. */
  create(cellId: CellId): Promise<OwnedCellAccount> {
    return createCellAccount(cellId, this.#held().gatewayKey)
  }

  /** The cell is let in once this has committed and `keep` has returned. */
  async admit(tx: Tx, cellId: CellId, account: OwnedCellAccount): Promise<void> {
    await insertCellAccount(tx, sealedAccount(this.#secrets, cellId, account))
  }

  /** The cell is shut out once this has committed and `keep` has returned: its connections are closed then. */
  async revoke(tx: Tx, cellId: CellId): Promise<void> {
    this.#held()
    await revokeCellAccounts(tx, cellId)
  }

  /** Afterwards the bus accepts and refuses credentials as the database says. Throws `unavailable`. */
  async keep(): Promise<void> {
    await this.#held().keeper.keep()
  }

  /** The right of a public key to act within the cell's account as the permissions say, for its lifetime. */
  sign(
    account: CellAccountRecord,
    user: { readonly name: string; readonly publicKey: string; readonly permissions: Permissions },
  ): Promise<string> {
    const { credentialLifetimeS } = this.#held()
    const seed = this.#secrets.open(account.sealedSeed, purposeOf(account.publicKey))
    return signUser(user.name, user.publicKey, seed, user.permissions, credentialLifetimeS)
  }

  /** Throws `unsupported` if this gateway can neither admit nor shut out cells. */
  require(): void {
    this.#held()
  }

  #held(): AccessRight {
    if (this.#right === undefined)
      throw new Failure(
        'unsupported',
        'This gateway cannot admit cells: set GATEWAY_NATS_OPERATOR_SEED and GATEWAY_NATS_SYSTEM_CREDENTIALS_FILE.',
      )
    return this.#right
  }
}

/** An account as it is stored: a reader of the database alone cannot sign with it. */
export function sealedAccount(
  secrets: Secrets,
  cellId: CellId,
  { publicKey, serviceActivation, feedActivation, seed }: OwnedCellAccount,
): Omit<CellAccountRecord, 'revokedAt'> {
  const sealedSeed = secrets.seal(seed, purposeOf(publicKey))
  return { cellId, publicKey, serviceActivation, feedActivation, sealedSeed }
}

function purposeOf(publicKey: string): string {
  return `bus account ${publicKey}`
}
