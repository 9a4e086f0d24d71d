import { randomBytes } from 'node:crypto'
import type { Database } from '#common/db/database.ts'
import { newKeystoneId } from '#gateway/app/identity/model.ts'
import { hashPassword } from '#gateway/app/identity/password-hash.ts'
import { ensureProject, findProjectByName } from '#gateway/db/identity/projects.ts'
import { ensureRoleAssignment } from '#gateway/db/identity/role-assignments.ts'
import { roleModel } from '#gateway/db/identity/roles.ts'
import { ensureUser } from '#gateway/db/identity/users.ts'
import type { Account } from '../api/client.ts'

const DOMAIN = { id: 'default' }
const PASSWORD_BYTES = 16

/** Afterwards there is a user with this role in the project, which is made where it is missing. */
export async function addAccount(
  db: Database,
  who: { readonly user: string; readonly project: string; readonly role: string },
): Promise<Account> {
  const { user, project, role } = who
  const domainId = DOMAIN.id
  await ensureProject(db, { id: newKeystoneId(), domainId, name: project, description: '' })
  const { id: targetId } = found(await findProjectByName(db, project, DOMAIN), project)
  const { roles } = await roleModel(db)
  const roleId = found(
    roles.find(({ name }) => name === role),
    role,
  ).id
  const password = randomPassword()
  const userId = newKeystoneId()
  await ensureUser(db, {
    id: userId,
    domainId,
    name: user,
    passwordHash: await hashPassword(password),
    defaultProjectId: targetId,
  })
  await ensureRoleAssignment(db, {
    actorType: 'user',
    actorId: userId,
    roleId,
    targetType: 'project',
    targetId,
    inherited: false,
  })
  return { user, password, project }
}

export function randomPassword(): string {
  return randomBytes(PASSWORD_BYTES).toString('base64url')
}

function found<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new Error(`There is no ${name}`)
  return value
}
