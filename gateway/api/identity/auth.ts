import type { operations } from '#openapi/identity.gen.ts'
import { domainsOfCaller, hasSystemRole } from '../../app/identity/domains.ts'
import { projectsOfUser } from '../../app/identity/projects.ts'
import { tokenCatalog } from '../../app/identity/token-catalog.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { catalogView } from '../../views/identity/catalog.ts'
import { domainView } from '../../views/identity/domain.ts'
import { projectView } from '../../views/identity/project.ts'
import { listBody } from './list-body.ts'

/** GET /v3/auth/domains */
export async function listAuthDomains(
  call: Call<operations['listAuthDomains']>,
): Promise<Answer<operations['listAuthDomains']>> {
  const { app, context, links } = call
  const found = await domainsOfCaller(app.identity, context)
  return { body: listBody(call, 'domains', found, (it) => domainView(it, links)) }
}

/** GET /v3/auth/projects */
export async function listAuthProjects(
  call: Call<operations['listAuthProjects']>,
): Promise<Answer<operations['listAuthProjects']>> {
  const { app, context, links } = call
  const found = await projectsOfUser(app.identity, context, context.userId, { enabled: true })
  return { body: listBody(call, 'projects', found, (project) => projectView(project, links)) }
}

/** GET /v3/auth/system */
export async function listAuthSystem(
  call: Call<operations['listAuthSystem']>,
): Promise<Answer<operations['listAuthSystem']>> {
  const hasRole = await hasSystemRole(call.app.identity, call.context)
  const found = { items: hasRole ? [{ all: true }] : [], isTruncated: false }
  return { body: listBody(call, 'system', found, (entry) => entry) }
}

/** GET /v3/auth/catalog */
export async function showCatalog(
  call: Call<operations['showCatalog']>,
): Promise<Answer<operations['showCatalog']>> {
  const { app, context, links } = call
  const items = catalogView(await tokenCatalog(app.identity, links.root, context))
  return { body: listBody(call, 'catalog', { items, isTruncated: false }, (entry) => entry) }
}
