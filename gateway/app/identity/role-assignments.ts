import type { Executor } from '#common/db/database.ts'
import { listDomains } from '../../db/identity/domains.ts'
import { listProjects } from '../../db/identity/projects.ts'
import { listRoleAssignments } from '../../db/identity/role-assignments.ts'
import { roleModel } from '../../db/identity/roles.ts'
import { listUsers } from '../../db/identity/users.ts'
import { effectiveRoles, type RoleModel } from './effective-roles.ts'
import type { Identity } from './identity.ts'
import { type Listed, listed, READ_MAX } from './listed.ts'
import type { RoleAssignment } from './model.ts'
import type { DomainRef, NamedRef, RoleRef } from './token-view.ts'

export interface AssignmentFilter {
  readonly user: string | undefined
  readonly role: string | undefined
  readonly project: string | undefined
  readonly domain: string | undefined
  readonly isSystem: boolean
  /** Roles implied by the assigned ones count as assigned. */
  readonly isEffective: boolean
  readonly withNames: boolean
}

/** An assignment; names are there only where they were asked for. */
export interface AssignmentView extends RoleAssignment {
  readonly role: RoleRef | undefined
  readonly user: NamedRef | undefined
  readonly project: NamedRef | undefined
  readonly domain: DomainRef | undefined
}

/** Who has which role on what, as far as every given filter fits. */
export async function roleAssignments(
  { db }: Identity,
  filter: AssignmentFilter,
): Promise<Listed<AssignmentView>> {
  const model = await roleModel(db)
  const stored = await listRoleAssignments(
    db,
    {
      ...(filter.user !== undefined && { userId: filter.user }),
      ...(filter.role !== undefined && !filter.isEffective && { roleId: filter.role }),
      ...targetOf(filter),
    },
    READ_MAX,
  )
  const found = filter.isEffective
    ? stored.flatMap((assignment) => expanded(model, assignment)).filter(isOfRole(filter.role))
    : stored
  return listed(await withNames(db, found, filter.withNames ? model : undefined))
}

function targetOf(filter: AssignmentFilter): Partial<RoleAssignment> {
  if (filter.project !== undefined) return { targetType: 'project', targetId: filter.project }
  if (filter.domain !== undefined) return { targetType: 'domain', targetId: filter.domain }
  return filter.isSystem ? { targetType: 'system' } : {}
}

function expanded(model: RoleModel, assignment: RoleAssignment): readonly RoleAssignment[] {
  return effectiveRoles(model, [assignment.roleId]).map(({ id }) => ({ ...assignment, roleId: id }))
}

function isOfRole(role: string | undefined): (assignment: RoleAssignment) => boolean {
  return (assignment) => role === undefined || assignment.roleId === role
}

async function withNames(
  db: Executor,
  found: readonly RoleAssignment[],
  model: RoleModel | undefined,
): Promise<readonly AssignmentView[]> {
  if (model === undefined)
    return found.map((it) => ({
      ...it,
      role: undefined,
      user: undefined,
      project: undefined,
      domain: undefined,
    }))
  const targets = (type: string) =>
    found.filter(({ targetType }) => targetType === type).map(({ targetId }) => targetId)
  const [users, projects, domains] = await Promise.all([
    listUsers(db, { ids: found.map(({ userId }) => userId) }, READ_MAX),
    listProjects(db, { ids: targets('project') }, READ_MAX),
    listDomains(db, { ids: targets('domain') }, READ_MAX),
  ])
  return found.map((it) => ({
    ...it,
    role: model.roles.find(({ id }) => id === it.roleId),
    user: users.find(({ id }) => id === it.userId),
    project: projects.find(({ id }) => id === it.targetId),
    domain: domains.find(({ id }) => id === it.targetId),
  }))
}
