import type { Executor, Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import type { CellAccess } from '../../cell-client/cell-access.ts'
import { findCellAccount } from '../../db/cell-accounts.ts'
import { type CellMapping, listCellMappings } from '../../db/cell-mappings.ts'
import { hostsNamed } from '../../db/host-list.ts'
import type { IdempotencyKey } from '../../db/idempotency-keys.ts'
import {
  findJoinToken,
  insertJoinToken,
  type JoinTokenRecord,
  listJoinTokens as list,
  deleteJoinToken as remove,
} from '../../db/join-tokens.ts'
import { oncePerKey } from '../once-per-key.ts'
import { joinSecretHash, newJoinSecret } from './join-token.ts'

export interface JoinTokenRequest {
  readonly cell: string
  /** Absent: the cell itself joins. */
  readonly host?: string | undefined
  /** The cell, or the host, is there already, and is to come back as itself. */
  readonly isRenewal: boolean
  readonly lifetimeS: number
}

export interface CreatedJoinToken {
  readonly record: JoinTokenRecord
  /** Stored nowhere; null where the request is a repeat: only the first answer has it. */
  readonly secret: string | null
}

/**
 * Afterwards one cell of this name, or one host of this cell, may join; for a renewal, the existing one. Throws
 * `conflict` for a name that is taken, `not-found` for an unknown cell of a host and for the renewal of an unknown
 * cell or host, `unsupported` where the bus takes no new accounts.
 */
export async function createJoinToken(
  db: Transactional,
  access: CellAccess,
  asked: JoinTokenRequest,
  key: IdempotencyKey | null,
): Promise<CreatedJoinToken> {
  access.require()
  const subject = await subjectOf(db, asked)
  const secret = newJoinSecret()
  const id = newId<string>()
  const fresh = { id, ...subject, secretHash: joinSecretHash(secret), lifetimeS: asked.lifetimeS }
  const made = await oncePerKey(db, key, async (tx) => {
    await insertJoinToken(tx, fresh)
    return { tokenId: id }
  })
  const record = await findJoinToken(db, made.tokenId)
  if (record === undefined) throw noSuchToken(made.tokenId)
  return { record, secret: made.isRepeat ? null : secret }
}

type Subject = Pick<JoinTokenRecord, 'cellId' | 'cellName' | 'hostId' | 'hostName'>

async function subjectOf(
  db: Executor,
  { cell: name, host, isRenewal }: JoinTokenRequest,
): Promise<Subject> {
  const cell = (await listCellMappings(db)).find((each) => each.name === name)
  if (host !== undefined) return hostSubject(db, name, cell, { host, isRenewal })
  if (isRenewal && cell === undefined)
    throw new Failure('not-found', `There is no cell ${name} whose credential could be renewed.`)
  if (!isRenewal && cell !== undefined && (await findCellAccount(db, cell.id)) !== undefined)
    throw new Failure(
      'conflict',
      `There is a cell ${name} already. Choose another name, make that cell leave first, or renew its credential (--renew).`,
    )
  // A cell that was shut out comes back as itself.
  const cellId = cell?.id ?? newId<CellId>()
  return { cellId, cellName: name, hostId: null, hostName: null }
}

async function hostSubject(
  db: Executor,
  name: string,
  cell: CellMapping | undefined,
  { host, isRenewal }: { readonly host: string; readonly isRenewal: boolean },
): Promise<Subject> {
  if (cell === undefined)
    throw new Failure('not-found', `There is no cell ${name} for a host to join.`)
  const known = (await hostsNamed(db, host)).find(({ cellId }) => cellId === cell.id)
  if (isRenewal && known === undefined)
    throw new Failure(
      'not-found',
      `Cell ${name} has no host ${host} whose credential could be renewed.`,
    )
  if (!isRenewal && known !== undefined && cell.loss === null)
    throw new Failure(
      'conflict',
      `Cell ${name} has a host ${host} already. Choose another name, or renew its credential (--renew).`,
    )
  // A host of a cell that was given up comes back as itself: only it can destroy what it still runs.
  const hostId = known === undefined ? newId<HostId>() : (known.view.hostId as HostId)
  return { cellId: cell.id, cellName: name, hostId, hostName: host }
}

/** Those that may be used or were, the newest first. */
export function listJoinTokens(db: Executor): Promise<readonly JoinTokenRecord[]> {
  return list(db)
}

/** Afterwards the token is refused. Throws `not-found`. */
export async function deleteJoinToken(db: Executor, id: string): Promise<void> {
  if (!(await remove(db, id))) throw noSuchToken(id)
}

function noSuchToken(id: string): Failure {
  return new Failure('not-found', `There is no join token ${id}.`)
}
