import { Failure } from '#common/errors.ts'
import type { operations, ProjectShown, Relatives } from '#openapi/identity.gen.ts'
import {
  changeProject,
  createProject as makeProject,
  removeProject,
} from '../../app/identity/change-projects.ts'
import type { Project } from '../../app/identity/model.ts'
import {
  allProjects,
  isProject,
  oneProject,
  projectsOfUser,
  relativesOf,
} from '../../app/identity/projects.ts'
import type { Links } from '../../http/links.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { projectView } from '../../views/identity/project.ts'
import { immutableOf } from './immutable-of.ts'
import { listBody } from './list-body.ts'
import { listQuery } from './list-query.ts'

/** POST /v3/projects */
export async function createProject(
  call: Call<operations['createProject']>,
): Promise<Answer<operations['createProject']>> {
  const { app, context, body, links } = call
  const { name, description, domain_id, parent_id, is_domain, enabled, tags, options, ...extra } =
    body.project
  const project = await makeProject(app.identity, context, {
    name,
    description: description ?? '',
    domainId: domain_id ?? undefined,
    parentId: parent_id ?? undefined,
    isDomain: is_domain ?? false,
    enabled: enabled ?? true,
    tags: tags ?? [],
    immutable: options?.immutable ?? false,
    extra,
  })
  return { body: { project: projectView(project, links) } }
}

/** DELETE /v3/projects/{project_id} */
export async function deleteProject({
  app,
  context,
  params,
}: Call<operations['deleteProject']>): Promise<Answer<operations['deleteProject']>> {
  await removeProject(app.identity, context, params.project_id)
  return {}
}

/** GET /v3/projects */
export async function listProjects(
  call: Call<operations['listProjects']>,
): Promise<Answer<operations['listProjects']>> {
  const { app, context, query, links } = call
  const found = await allProjects(app.identity, context, {
    ...listQuery(query),
    parentId: query.parent_id,
    isDomain: query.is_domain,
    tags: {
      all: tagsOf(query.tags),
      any: tagsOf(query['tags-any']),
      notAll: tagsOf(query['not-tags']),
      none: tagsOf(query['not-tags-any']),
    },
  })
  return { body: listBody(call, 'projects', found, (it) => projectView(it, links)) }
}

function tagsOf(list: string | undefined): readonly string[] | undefined {
  return list === undefined || list === '' ? undefined : list.split(',')
}

/** GET /v3/users/{user_id}/projects */
export async function listUserProjects(
  call: Call<operations['listUserProjects']>,
): Promise<Answer<operations['listUserProjects']>> {
  const { app, context, params, query, links } = call
  const found = await projectsOfUser(app.identity, context, params.user_id, listQuery(query))
  return { body: listBody(call, 'projects', found, (it) => projectView(it, links)) }
}

/** GET /v3/projects/{project_id} */
export async function showProject(
  call: Call<operations['showProject']>,
): Promise<Answer<operations['showProject']>> {
  const { app, context, params, query, links } = call
  const project = await oneProject(app.identity, context, params.project_id)
  const view = projectView(project, links)
  const asked = {
    parents: formOf(query.parents_as_list, query.parents_as_ids),
    subtree: formOf(query.subtree_as_list, query.subtree_as_ids),
  }
  const hasRelatives = asked.parents !== undefined || asked.subtree !== undefined
  if (!hasRelatives || !isProject(project)) return { body: { project: view } }
  const relatives = await relativesOf(app.identity, project)
  return { body: { project: { ...view, ...relativesView(project, relatives, asked, links) } } }
}

function formOf(asList: unknown, asIds: unknown): 'list' | 'ids' | undefined {
  if (asList !== undefined) return 'list'
  return asIds === undefined ? undefined : 'ids'
}

/** PATCH /v3/projects/{project_id} */
export async function updateProject(
  call: Call<operations['updateProject']>,
): Promise<Answer<operations['updateProject']>> {
  const { app, context, params, body, links } = call
  const { name, description, domain_id, parent_id, is_domain, enabled, tags, options, ...extra } =
    body.project
  if (is_domain === true) throw new Failure('invalid', 'Update of `is_domain` is not allowed.')
  const project = await changeProject(app.identity, context, params.project_id, {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description: description ?? '' }),
    ...(enabled !== undefined && { enabled }),
    ...(tags !== undefined && { tags }),
    ...immutableOf(options),
    domainId: domain_id ?? undefined,
    parentId: parent_id,
    extra,
  })
  return { body: { project: projectView(project, links) } }
}

/** Which relatives are asked for, and how. */
interface RequestedRelatives {
  readonly parents: 'list' | 'ids' | undefined
  readonly subtree: 'list' | 'ids' | undefined
}

/** The projects above and below one, as lists of projects or as ids nested in each other. */
function relativesView(
  project: Project,
  { above, below }: { readonly above: readonly Project[]; readonly below: readonly Project[] },
  { parents, subtree }: RequestedRelatives,
  links: Links,
): Pick<ProjectShown, 'parents' | 'subtree'> {
  const listOf = (all: readonly Project[]) => all.map((it) => ({ project: projectView(it, links) }))
  return {
    ...(parents !== undefined && {
      parents: parents === 'list' ? listOf(above) : idsAbove(project),
    }),
    ...(subtree !== undefined && {
      subtree: subtree === 'list' ? listOf(below) : idsBelow(project.id, below),
    }),
  }
}

/** The nearest outermost, the domain innermost. */
function idsAbove({ ancestors, domain }: Project): Relatives {
  return [domain.id, ...ancestors].reduce<Relatives>((inner, id) => ({ [id]: inner }), null)
}

function idsBelow(id: string, all: readonly Project[]): Relatives {
  const children = all.filter(({ parentId }) => parentId === id)
  if (children.length === 0) return null
  return Object.fromEntries(children.map((child) => [child.id, idsBelow(child.id, all)]))
}
