import { Failure } from '#common/errors.ts'
import { findUnusedConsole } from '../../db/console-sessions.ts'
import { tokenId } from '../identity/identity.ts'
import type { ConsolePlace } from './console-session.ts'
import { type Consoles, mayHaveConsole } from './consoles.ts'

/** The console that a token opens. Throws `not-found` for a token that is unknown, used or expired. */
export async function showConsole(consoles: Consoles, token: string): Promise<ConsolePlace> {
  const session = await findUnusedConsole(consoles.db, tokenId(token))
  if (session === undefined || !(await mayHaveConsole(consoles, session)))
    throw new Failure('not-found', 'Token not found')
  return session.place
}
