import type { operations } from '#openapi/identity.gen.ts'
import {
  changeCredential,
  createCredential,
  credentialsSeenBy,
  oneCredential,
  removeCredential,
} from '../../app/identity/credentials.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { credentialView } from '../../views/identity/credential.ts'
import { listBody } from './list-body.ts'

type List = operations['listCredentials']
type Create = operations['createCredential']
type Show = operations['showCredential']
type Update = operations['updateCredential']
type Delete = operations['deleteCredential']

async function list(call: Call<List>): Promise<Answer<List>> {
  const { app, context, query, links } = call
  const { user_id: userId, type, limit, marker } = query
  const found = await credentialsSeenBy(app, context, { userId, type, limit, marker })
  return { body: listBody(call, 'credentials', found, (it) => credentialView(it, links)) }
}

async function create({ app, context, body, links }: Call<Create>): Promise<Answer<Create>> {
  const { user_id: userId, project_id: projectId = null, type, blob } = body.credential
  const made = await createCredential(app, context, { userId, projectId, type, blob })
  return { body: { credential: credentialView(made, links) } }
}

async function show({ app, context, params, links }: Call<Show>): Promise<Answer<Show>> {
  const found = await oneCredential(app, context, params.credential_id)
  return { body: { credential: credentialView(found, links) } }
}

async function update({
  app,
  context,
  params,
  body,
  links,
}: Call<Update>): Promise<Answer<Update>> {
  const { user_id: userId, project_id: projectId, type, blob } = body.credential
  const changed = await changeCredential(app, context, params.credential_id, {
    ...(userId !== undefined && { userId }),
    ...(projectId !== undefined && { projectId }),
    ...(type !== undefined && { type }),
    ...(blob !== undefined && { blob }),
  })
  return { body: { credential: credentialView(changed, links) } }
}

async function remove({ app, context, params }: Call<Delete>): Promise<Answer<Delete>> {
  await removeCredential(app, context, params.credential_id)
  return {}
}

/** What openapi/identity/credentials.yaml describes under /v3/credentials. */
export const credentialHandlers = {
  listCredentials: list,
  createCredential: create,
  showCredential: show,
  updateCredential: update,
  deleteCredential: remove,
}
