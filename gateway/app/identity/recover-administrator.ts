import type { Database } from '#common/db/database.ts'
import { lockDomain, updateDomain } from '../../db/identity/domains.ts'
import { lockProject, updateProject } from '../../db/identity/projects.ts'
import { recordRevocation } from '../../db/identity/revocations.ts'
import { deleteTokens } from '../../db/identity/tokens.ts'
import { lockUser, updateUser } from '../../db/identity/users.ts'
import { type BootstrapPasswords, bootstrapIdentity } from './bootstrap.ts'
import { hashPassword } from './password-hash.ts'

/**
 * Afterwards the user `admin` logs in with this password and administers the cloud, even if that user was disabled,
 * changed or deleted. For an operator with access to the database when no administrator can log in any more.
 */
export async function recoverAdministrator(
  db: Database,
  passwords: BootstrapPasswords,
): Promise<void> {
  const { adminUserId, adminProjectId } = await bootstrapIdentity(db, passwords)
  const passwordHash = await hashPassword(passwords.adminPassword)
  await db.transaction(async (tx) => {
    await recordRevocation(tx, null)
    const user = await lockUser(tx, adminUserId)
    const project = await lockProject(tx, adminProjectId)
    const domain = await lockDomain(tx, 'default')
    if (user === undefined || project === undefined || domain === undefined)
      throw new Error('the administrator was deleted again meanwhile')
    await updateDomain(tx, { ...domain, enabled: true })
    await updateProject(tx, { ...project, enabled: true })
    await updateUser(tx, { ...user, enabled: true }, passwordHash)
    await deleteTokens(tx, { userIds: [adminUserId] })
  })
}
