import { Failure } from '#common/errors.ts'
import { findUnusedConsole } from '../../db/console-sessions.ts'
import { tokenId } from '../identity/identity.ts'
import type { ConsolePlace } from './console-session.ts'
import { type Consoles, mayHaveConsole } from './consoles.ts'

/** What a token would open. Throws `not-found` for one that opens nothing (any more). */
export async function showConsole(consoles: Consoles, token: string): Promise<ConsolePlace> {
  const session = await findUnusedConsole(consoles.db, tokenId(token))
  if (session === undefined || !(await mayHaveConsole(consoles, session)))
    throw new Failure('not-found', 'Token not found')
  return session.place
}
