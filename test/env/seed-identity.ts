import { randomBytes } from 'node:crypto'
import type { Executor } from '#common/db/database.ts'
import { tokenId } from '#gateway/app/identity/identity.ts'
import { ensureDomain } from '#gateway/db/identity/domains.ts'
import { ensureProject } from '#gateway/db/identity/projects.ts'
import { ensureRoleAssignment } from '#gateway/db/identity/role-assignments.ts'
import { ensureImplication, ensureRole } from '#gateway/db/identity/roles.ts'
import { insertToken } from '#gateway/db/identity/tokens.ts'
import { ensureUser } from '#gateway/db/identity/users.ts'

export const TEST_ROLES = ['admin', 'member', 'reader'] as const
export type TestRole = (typeof TEST_ROLES)[number]

export interface TestUser {
  readonly userId: string
  readonly projectId: string
  readonly token: string
}

const TOKEN_LIFETIME_MS = 3_600_000

/** Afterwards there are the domain `default` and the roles, each implying the next lower one. */
export async function seedRoles(db: Executor): Promise<void> {
  await ensureDomain(db, { id: 'default', name: 'Default', description: '', enabled: true })
  for (const name of TEST_ROLES) await ensureRole(db, { id: name, name, description: '' })
  await ensureImplication(db, 'admin', 'member')
  await ensureImplication(db, 'member', 'reader')
}

/** A user with one role in a project (made where there is none of that name), and a token for it. */
export async function seedUser(
  db: Executor,
  name: string,
  project: string,
  role: TestRole,
): Promise<TestUser> {
  const userId = hexId(`user ${name}`)
  const projectId = hexId(`project ${project}`)
  const domainId = 'default'
  await ensureProject(db, { id: projectId, domainId, name: project, description: '' })
  await ensureUser(db, {
    id: userId,
    domainId,
    name,
    passwordHash: 'none',
    defaultProjectId: projectId,
  })
  await ensureRoleAssignment(db, {
    actorType: 'user',
    actorId: userId,
    targetType: 'project',
    targetId: projectId,
    roleId: role,
    inherited: false,
  })
  const token = randomBytes(24).toString('base64url')
  const issuedAt = new Date()
  await insertToken(db, {
    id: tokenId(token),
    auditId: randomBytes(8).toString('hex'),
    auditChainId: randomBytes(8).toString('hex'),
    userId,
    scope: { type: 'project', id: projectId },
    applicationCredentialId: null,
    trustId: null,
    methods: ['password'],
    issuedAt,
    expiresAt: new Date(issuedAt.getTime() + TOKEN_LIFETIME_MS),
  })
  return { userId, projectId, token }
}

/** The same id for the same name, as Keystone writes ids. */
function hexId(name: string): string {
  return tokenId(name).slice(0, 32)
}
