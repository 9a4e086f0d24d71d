import { fromPublic } from '@nats-io/nkeys'
import type { Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { WIRE_VERSIONS } from '#openapi/wire.ts'
import { computePermissions, SERVER_SIDE_PERMISSIONS } from '../../bus/accounts.ts'
import type { CellAccess } from '../../cell-client/cell-access.ts'
import { isShutOut, recordBusKey } from '../../db/bus-keys.ts'
import { type CellAccountRecord, findCellAccount } from '../../db/cell-accounts.ts'
import { queueEvents } from '../../db/event-inbox.ts'
import {
  findJoinToken,
  findJoinTokenBySecret,
  type JoinTokenRecord,
  useJoinToken,
} from '../../db/join-tokens.ts'
import { registerCell } from '../cells/register-cell.ts'
import { joinSecretHash, readJoinToken } from './join-token.ts'

export interface JoinRequest {
  readonly token: string
  /** Public nkey of a user (`U…`); its private key stays with the machine that joins. */
  readonly publicKey: string
  readonly wireVersions: readonly number[]
}

export interface Joined {
  /** Whose cell or host the credential is. */
  readonly subject: JoinTokenRecord
  readonly credential: string
  readonly wireVersion: number
}

/**
 * Afterwards the holder of the private key may act on the bus as the cell, or as the host, that the token names, and
 * as nothing else; every gateway knows a new cell within a second. The same key may be sent again until the token
 * expires. Throws `unauthenticated` for a token that is not valid, `conflict` for a token that was used with another
 * key, for a key that was shut out, for a name taken meanwhile and for wire versions without one in common,
 * `unavailable` when the bus does not answer: ask again.
 */
export async function join(
  db: Transactional,
  access: CellAccess,
  asked: JoinRequest,
): Promise<Joined> {
  access.require()
  const wireVersion = commonVersion(asked.wireVersions)
  assertPublicKey(asked.publicKey)
  const subject = await tokenOf(db, asked)
  const account = await admitted(db, access, subject, asked.publicKey)
  await access.keep()
  const { cellId, cellName, hostId, hostName } = subject
  const credential = await access.sign(account, {
    name: hostName === null ? `cell-${cellName}` : `host-${hostName}`,
    publicKey: asked.publicKey,
    permissions: hostId === null ? SERVER_SIDE_PERMISSIONS : computePermissions(cellId, hostId),
  })
  return { subject, credential, wireVersion }
}

function commonVersion(offered: readonly number[]): number {
  const common = WIRE_VERSIONS.findLast((version) => offered.includes(version))
  if (common !== undefined) return common
  throw new Failure(
    'conflict',
    `The versions are too far apart: this gateway supports ${WIRE_VERSIONS.join(', ')} with cells, and you ${offered.join(', ')}. Bring both to neighbouring releases.`,
  )
}

function assertPublicKey(publicKey: string): void {
  try {
    fromPublic(publicKey)
  } catch (cause) {
    throw new Failure('invalid', 'public_key is not the public nkey of a user.', { cause })
  }
}

async function tokenOf(db: Transactional, asked: JoinRequest): Promise<JoinTokenRecord> {
  const { secret } = readJoinToken(asked.token)
  const found = await findJoinTokenBySecret(db, joinSecretHash(secret))
  if (found === undefined)
    throw new Failure(
      'unauthenticated',
      'This gateway does not know the join token: it belongs to another gateway, or was revoked.',
    )
  return found
}

/** One commit: the token is used up, and its cell is there, with an account. */
async function admitted(
  db: Transactional,
  access: CellAccess,
  token: JoinTokenRecord,
  publicKey: string,
): Promise<CellAccountRecord> {
  const fresh = await access.create(token.cellId)
  await db.transaction(async (tx) => {
    if (!(await useJoinToken(tx, token.id, publicKey)))
      throw notGood((await findJoinToken(tx, token.id)) ?? token, publicKey)
    if (await isShutOut(tx, publicKey))
      throw new Failure('conflict', 'This key was shut out. Join with another key.')
    await recordBusKey(tx, { publicKey, cellId: token.cellId, hostId: token.hostId })
    const isKnown = token.hostId !== null || token.usedBy !== null
    if (isKnown || (await findCellAccount(tx, token.cellId)) !== undefined) return
    await registerCell(tx, { id: token.cellId, name: token.cellName })
    const details = { state: 'joined', message: `Cell ${token.cellName} was let in.` }
    queueEvents(tx, [{ type: 'cell.state', cellId: token.cellId, details }])
    await access.admit(tx, token.cellId, fresh)
  })
  const account = await findCellAccount(db, token.cellId)
  if (account !== undefined) return account
  throw new Failure(
    'conflict',
    `Cell ${token.cellName} has left, or was shut out. Ask for a new token.`,
  )
}

function notGood({ expiresAt, usedBy }: JoinTokenRecord, publicKey: string): Failure {
  if (usedBy !== null && usedBy !== publicKey)
    return new Failure('conflict', 'This join token was used. Ask for a new one.')
  return new Failure(
    'unauthenticated',
    `This join token expired at ${expiresAt.toISOString()}. Ask for a new one.`,
  )
}
