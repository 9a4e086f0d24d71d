import type { Database, Executor } from '#common/db/database.ts'
import { ensureDomain } from '../../db/identity/domains.ts'
import { ensureProject, findProjectByName } from '../../db/identity/projects.ts'
import { ensureRoleAssignment } from '../../db/identity/role-assignments.ts'
import { ensureImplication, ensureRole, roleModel } from '../../db/identity/roles.ts'
import { ensureUser, findLogin } from '../../db/identity/users.ts'
import { newKeystoneId } from './keystone-id.ts'
import { hashPassword } from './password-hash.ts'

/** Made by whoever starts the deployment, and shown to its operator once. */
export interface BootstrapPasswords {
  readonly adminPassword: string
  readonly demoPassword: string
}

/** What was there or has been made. */
export interface BootstrapResult {
  readonly adminProjectId: string
  readonly demoProjectId: string
  readonly adminUserId: string
  readonly demoUserId: string
  /** True when a user existed, so that the password given for it was not used. */
  readonly adminExisted: boolean
  readonly demoExisted: boolean
}

const DOMAIN = 'default'

/** Each role implies the next one, as in Keystone: admin may what manager may, and so on. */
const ROLE_CHAIN = ['admin', 'manager', 'member', 'reader'] as const
/** For services that check their callers' tokens. */
const SERVICE_ROLE = 'service'

/**
 * Afterwards there are the domain `default`, Keystone's roles, projects and users `admin` and `demo`. The admin has
 * the role `admin` in both projects and on the system, the demo user `member` in its project. What exists is left
 * as it is, passwords included, so any number of callers may do this at once and again.
 */
export async function bootstrapIdentity(
  db: Database,
  { adminPassword, demoPassword }: BootstrapPasswords,
): Promise<BootstrapResult> {
  await ensureDomain(db, { id: DOMAIN, name: 'Default', description: '', enabled: true })
  const roles = await ensureRoles(db)
  const adminProjectId = await projectNamed(db, 'admin')
  const demoProjectId = await projectNamed(db, 'demo')
  const admin = await userNamed(db, 'admin', adminPassword, adminProjectId)
  const demo = await userNamed(db, 'demo', demoPassword, demoProjectId)

  const give = (actorId: string, roleId: string, projectId: string | null) =>
    ensureRoleAssignment(db, {
      actorType: 'user',
      actorId,
      roleId,
      targetType: projectId === null ? 'system' : 'project',
      targetId: projectId ?? '',
      inherited: false,
    })
  await give(admin.id, roles.admin, adminProjectId)
  await give(admin.id, roles.admin, demoProjectId)
  await give(demo.id, roles.member, demoProjectId)
  await give(admin.id, roles.admin, null)
  return {
    adminProjectId,
    demoProjectId,
    adminUserId: admin.id,
    demoUserId: demo.id,
    adminExisted: admin.existed,
    demoExisted: demo.existed,
  }
}

async function ensureRoles(db: Executor): Promise<{ admin: string; member: string }> {
  for (const name of [...ROLE_CHAIN, SERVICE_ROLE])
    await ensureRole(db, { id: newKeystoneId(), name, description: '' })
  const { roles } = await roleModel(db)
  const idOf = (name: string) => {
    const role = roles.find((it) => it.name === name && it.domainId === '')
    if (role === undefined) throw new Error(`role ${name} was just made`)
    return role.id
  }
  for (const [index, implied] of ROLE_CHAIN.slice(1).entries()) {
    const prior = ROLE_CHAIN[index]
    if (prior !== undefined) await ensureImplication(db, idOf(prior), idOf(implied))
  }
  return { admin: idOf('admin'), member: idOf('member') }
}

async function projectNamed(db: Executor, name: string): Promise<string> {
  await ensureProject(db, { id: newKeystoneId(), domainId: DOMAIN, name, description: '' })
  const project = await findProjectByName(db, name, { id: DOMAIN })
  if (project === undefined) throw new Error(`project ${name} was just made`)
  return project.id
}

async function userNamed(
  db: Executor,
  name: string,
  password: string,
  defaultProjectId: string,
): Promise<{ readonly id: string; readonly existed: boolean }> {
  const reference = { name, domain: { id: DOMAIN } }
  const known = await findLogin(db, reference)
  if (known !== undefined) return { id: known.user.id, existed: true }
  const passwordHash = await hashPassword(password)
  const id = newKeystoneId()
  await ensureUser(db, { id, domainId: DOMAIN, name, passwordHash, defaultProjectId })
  const made = await findLogin(db, reference)
  if (made === undefined) throw new Error(`user ${name} was just made`)
  return { id: made.user.id, existed: made.user.id !== id }
}
