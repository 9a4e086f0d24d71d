import { Failure } from '#common/errors.ts'
import { findProject, listProjects } from '../../db/identity/projects.ts'
import { assignedTargets } from '../../db/identity/role-assignments.ts'
import { findUser } from '../../db/identity/users.ts'
import { enforce } from '../policy.ts'
import type { Caller } from '../request-context.ts'
import type { Identity } from './identity.ts'
import { type Listed, listed, READ_MAX } from './listed.ts'
import type { NameFilter, Project } from './model.ts'

export async function allProjects({ db }: Identity, filter: NameFilter): Promise<Listed<Project>> {
  return listed(await listProjects(db, filter, READ_MAX))
}

/** The project of the token, or any one for whoever may see others. */
export async function oneProject({ db }: Identity, caller: Caller, id: string): Promise<Project> {
  if (id !== caller.projectId) enforce(caller, 'identity:get_project:other')
  const project = await findProject(db, id)
  if (project === undefined) throw new Failure('not-found', `Project ${id} could not be found.`)
  return project
}

/** The projects in which a user has a role; other users' for whoever may see those. */
export async function projectsOfUser(
  { db }: Identity,
  caller: Caller,
  userId: string,
  filter: NameFilter,
): Promise<Listed<Project>> {
  if (userId !== caller.userId) {
    enforce(caller, 'identity:list_user_projects:other')
    if ((await findUser(db, userId)) === undefined)
      throw new Failure('not-found', `User ${userId} could not be found.`)
  }
  const ids = await assignedTargets(db, userId, 'project', READ_MAX)
  return listed(await listProjects(db, { ...filter, ids }, READ_MAX))
}
