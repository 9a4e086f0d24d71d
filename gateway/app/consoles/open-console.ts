import { workContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import { deleteConsoleSession, takeConsoleSession } from '../../db/console-sessions.ts'
import { tokenId } from '../identity/identity.ts'
import { ConsolePipe } from './console-pipe.ts'
import { type Consoles, mayHaveConsole } from './consoles.ts'

/**
 * Uses the token up and opens its console. Throws `unauthenticated` for a token that opens nothing, `over-quota` when
 * the project has too many consoles open, and what the host says: `conflict` while the guest is off.
 */
export async function openConsole(consoles: Consoles, token: string): Promise<ConsolePipe> {
  const { db, openMax } = consoles
  const session = await takeConsoleSession(db, tokenId(token), openMax)
  if (session === undefined)
    throw new Failure('unauthenticated', 'The console was opened before, or not soon enough.')
  if (session === 'refused')
    throw new Failure('over-quota', `The project has ${openMax} consoles open: close one first.`)
  if (!(await mayHaveConsole(consoles, session))) {
    await deleteConsoleSession(db, session.id)
    throw new Failure(
      'unauthenticated',
      'The user who requested the console is no longer permitted to use it.',
    )
  }
  const pipe = new ConsolePipe(consoles, session, workContext({}))
  try {
    await pipe.open()
    return pipe
  } catch (error) {
    await deleteConsoleSession(db, session.id)
    throw error
  }
}
