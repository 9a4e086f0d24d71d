import type { Transactional } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import { findIntent, removeIntent } from '../../db/server-intents.ts'
import type { Requester } from '../requester.ts'
import { endIntent } from './end-intent.ts'

/**
 * Afterwards nothing of it will be done, and the server shows what its cell last said. Throws `not-found` where it is
 * another project's, or somebody has begun to carry it out.
 */
export async function cancelIntent(
  db: Transactional,
  requester: Requester,
  id: string,
): Promise<void> {
  const intent = isUuid(id) ? await findIntent(db, id) : undefined
  const isOwn = intent?.projectId === requester.projectId || requester.isAdmin
  const gone = new Failure(
    'not-found',
    `No intent ${id} waits: it was carried out, superseded or cancelled, or never was.`,
  )
  if (intent === undefined || !isOwn) throw gone
  await db.transaction(async (tx) => {
    if (!(await removeIntent(tx, intent))) throw gone
    endIntent(tx, intent, 'Cancelled.')
  })
}
