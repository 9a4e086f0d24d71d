import type { operations } from '#openapi/identity.gen.ts'
import {
  createEc2Credential,
  ec2CredentialsOf,
  oneEc2Credential,
  removeEc2Credential,
} from '../../app/identity/ec2-credentials.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { ec2CredentialView } from '../../views/identity/credential.ts'
import { listBody } from './list-body.ts'

type List = operations['listEc2Credentials']
type Create = operations['createEc2Credential']
type Show = operations['showEc2Credential']
type Delete = operations['deleteEc2Credential']

async function list(call: Call<List>): Promise<Answer<List>> {
  const { app, context, params, links } = call
  const found = await ec2CredentialsOf(app, context, params.user_id)
  return { body: listBody(call, 'credentials', found, (it) => ec2CredentialView(it, links)) }
}

async function create(call: Call<Create>): Promise<Answer<Create>> {
  const { app, context, params, body, links } = call
  const made = await createEc2Credential(app, context, params.user_id, body.tenant_id)
  return { body: { credential: ec2CredentialView(made, links) } }
}

async function show({ app, context, params, links }: Call<Show>): Promise<Answer<Show>> {
  const found = await oneEc2Credential(app, context, params.user_id, params.access_key)
  return { body: { credential: ec2CredentialView(found, links) } }
}

async function remove({ app, context, params }: Call<Delete>): Promise<Answer<Delete>> {
  await removeEc2Credential(app, context, params.user_id, params.access_key)
  return {}
}

/** What openapi/identity/credentials.yaml describes under /v3/users/{user_id}/credentials/OS-EC2. */
export const ec2CredentialHandlers = {
  listEc2Credentials: list,
  createEc2Credential: create,
  showEc2Credential: show,
  deleteEc2Credential: remove,
}
