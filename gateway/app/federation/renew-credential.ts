import { renewalProof, type UserClaims } from '#common/bus/credential.ts'
import { verifyWithKey } from '#common/bus/native-key-pair.ts'
import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { CellId, HostId } from '#common/ids.ts'
import { computePermissions, SERVER_SIDE_PERMISSIONS } from '../../bus/accounts.ts'
import type { CellAccess } from '../../cell-client/cell-access.ts'
import { isShutOut, recordBusKey } from '../../db/bus-keys.ts'
import { findAccountByKey, findRevokedCell } from '../../db/cell-accounts.ts'
import { listCellMappings } from '../../db/cell-mappings.ts'
import { HOW_TO_REJOIN, readCredential } from './admit-peer.ts'

export interface RenewalRequest {
  /** The present one, a JWT. */
  readonly credential: string
  /** Of its key over `renewalProof`, in base64url. */
  readonly signature: string
}

/**
 * A credential of the same key and the same rights as this release gives them, good from now on. Throws
 * `unauthenticated` for one that has ended, that no cell's account has signed (and why there is none), whose key made no such signature or was
 * shut out, and `unsupported` where this gateway can sign none. `now` in milliseconds since the epoch.
 */
export async function renewCredential(
  db: Executor,
  access: CellAccess,
  { credential, signature }: RenewalRequest,
  now: number,
): Promise<string> {
  access.require()
  const claims = readCredential(credential, now)
  const { sub: publicKey, name } = claims
  if (!verifyWithKey(publicKey, renewalProof(credential), Buffer.from(signature, 'base64url')))
    throw refused('the signature is not that of the key of the credential')
  const account = await findAccountByKey(db, claims.iss)
  if (account === undefined) throw refused(await whyNoCell(db, claims.iss))
  if (await isShutOut(db, publicKey)) throw refused(`it was shut out. ${HOW_TO_REJOIN}`)
  const { cellId } = account
  const hostId = hostOf(claims, cellId)
  await recordBusKey(db, { publicKey, cellId, hostId })
  const permissions = hostId === null ? SERVER_SIDE_PERMISSIONS : computePermissions(cellId, hostId)
  return access.sign(account, { name, publicKey, permissions })
}

/** Why nothing that this account signed counts here, and what to do. */
async function whyNoCell(db: Executor, publicKey: string): Promise<string> {
  const cellId = await findRevokedCell(db, publicKey)
  if (cellId === undefined)
    return 'no cell that this deployment knows has signed it. Its database may be of a time before that cell joined: join again, in a directory of its own'
  const cell = (await listCellMappings(db)).find(({ id }) => id === cellId)
  if (cell === undefined)
    return 'the cell has left this deployment. Stop its programs with ./weir down. To join again as a new cell, use an empty directory'
  if (cell.loss === null) return `cell ${cell.name} has joined again since. ${HOW_TO_REJOIN}`
  return `cell ${cell.name} was declared lost at ${cell.loss.at.toISOString()}, and its servers were taken from it. What its hosts still have of them is destroyed once it joins again. ${HOW_TO_REJOIN}`
}

/** The host to which a credential of the cell belongs; null for a credential of the cell itself. */
function hostOf({ nats }: UserClaims, cellId: CellId): HostId | null {
  const start = `host.${cellId}.`
  const own = nats.sub?.allow?.find((subject) => subject.startsWith(start))
  return own === undefined ? null : (own.slice(start.length).replace(/\.>$/, '') as HostId)
}

function refused(why: string): Failure {
  return new Failure('unauthenticated', `The credential is not valid here: ${why}.`)
}
