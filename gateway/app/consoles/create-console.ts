import { randomBytes, randomUUID } from 'node:crypto'
import { Failure } from '#common/errors.ts'
import { insertConsoleSession } from '../../db/console-sessions.ts'
import { hostHasCapability } from '../../db/host-capability.ts'
import { tokenId } from '../identity/identity.ts'
import type { RequestContext } from '../request-context.ts'
import { placedServer } from '../servers/boot/placed-server.ts'
import type { ConsoleKind } from './console-session.ts'
import type { Consoles } from './consoles.ts'

/** The types that can be opened, by protocol. Others Nova knows, too, but answers as a cloud does that has them off. */
const KINDS: Readonly<Record<string, ConsoleKind>> = {
  'vnc novnc': 'vnc',
  'serial serial': 'serial',
}
const TOKEN_BYTES = 32

export interface CreatedConsole {
  readonly kind: ConsoleKind
  /** The name of the server. */
  readonly serverName: string
  /** Opens the console once; kept nowhere. */
  readonly token: string
}

/**
 * Afterwards the console may be opened with the token, once and soon. Throws `not-found`; `invalid` for a type that
 * the server's host does not have; `conflict` for a server in no cell, or off; `unavailable` while its cell is unreachable.
 */
export async function createConsole(
  consoles: Consoles,
  context: RequestContext,
  serverId: string,
  asked: { readonly protocol: string; readonly type: string },
): Promise<CreatedConsole> {
  const { db } = consoles
  const { server, cell } = await placedServer(consoles, context, serverId)
  const { hostId, attempt } = server
  if (hostId === null) throw new Failure('conflict', `Instance ${server.id} is not ready`)
  const kind = KINDS[`${asked.protocol} ${asked.type}`]
  const has = (part: string) => hostHasCapability(db, cell.id, hostId, part)
  const isKnown = async (wanted: ConsoleKind) => {
    if (!(await has('console'))) return false
    if (!(await has('consoleKinds'))) return true
    const ask = { serverId: server.id, kind: wanted }
    return (await consoles.askHost(cell, hostId, 'console-kind', ask, context)).isThere
  }
  if (kind === undefined || !(await isKnown(kind)))
    throw new Failure('invalid', `Unavailable console type ${asked.type}.`)

  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const place = { serverId: server.id, attempt, cellId: cell.id, hostId, kind }
  const session = {
    id: randomUUID(),
    projectId: server.projectId,
    callerTokenId: context.tokenId,
    place,
  }
  await insertConsoleSession(db, session, tokenId(token), consoles.tokenLifetimeS)
  return { kind, serverName: server.name, token }
}
