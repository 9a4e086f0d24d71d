import type { operations } from '#openapi/identity.gen.ts'
import { logIn } from '../../app/identity/log-in.ts'
import type { LoginRequest } from '../../app/identity/login-request.ts'
import { tokenForRequest, tokenForText } from '../../app/identity/signature-tokens.ts'
import { revokeSubjectToken, subjectToken } from '../../app/identity/subject-token.ts'
import { tokenCatalog } from '../../app/identity/token-catalog.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { tokenBody } from '../../views/identity/token.ts'

/** POST /v3/auth/tokens */
export async function createToken(
  call: Call<operations['createToken']>,
): Promise<Answer<operations['createToken']>> {
  const { app, body, query, links, raw } = call
  const { token, view } = await logIn(app.identity, body.auth as LoginRequest, raw.peer())
  const catalog =
    query.nocatalog === undefined
      ? await tokenCatalog(app.identity, links.root, view.caller)
      : undefined
  return { body: tokenBody(view, catalog), headers: { 'X-Subject-Token': token } }
}

/** DELETE /v3/auth/tokens */
export async function revokeToken({
  app,
  context,
  raw,
}: Call<operations['revokeToken']>): Promise<Answer<operations['revokeToken']>> {
  await revokeSubjectToken(app.identity, context, raw.header('x-subject-token'))
  return {}
}

/** GET /v3/auth/tokens, and HEAD */
export async function showToken(
  call: Call<operations['showToken']>,
): Promise<Answer<operations['showToken']>> {
  const { app, context, query, links, raw } = call
  const token = raw.header('x-subject-token')
  const view = await subjectToken(app.identity, context, token)
  const catalog =
    query.nocatalog === undefined
      ? await tokenCatalog(app.identity, links.root, view.caller)
      : undefined
  return { body: tokenBody(view, catalog), headers: { 'X-Subject-Token': token ?? '' } }
}

type Ec2 = operations['createEc2Token']
type S3 = operations['createS3Token']

async function ofRequest({ app, body, links }: Call<Ec2>): Promise<Answer<Ec2>> {
  const { access, signature, host, verb, path, params, headers, body_hash } = (body.credentials ??
    body.credential ??
    body.ec2Credentials)!
  const { token, view } = await tokenForRequest(app, {
    access,
    signature,
    host,
    verb,
    path,
    params: params ?? {},
    headers: headers ?? {},
    bodyHash: body_hash ?? '',
  })
  const catalog = await tokenCatalog(app.identity, links.root, view.caller)
  return { body: tokenBody(view, catalog), headers: { 'X-Subject-Token': token } }
}

/** As Keystone's, it tells of the user alone: the token itself is not handed out. */
async function ofText({ app, body, links }: Call<S3>): Promise<Answer<S3>> {
  const { access, signature, token: text } = (body.credentials ?? body.credential)!
  const { view } = await tokenForText(app, { access, signature, text })
  const catalog = await tokenCatalog(app.identity, links.root, view.caller)
  return { body: tokenBody(view, catalog) }
}

/** What openapi/identity/authentication.yaml describes for services that take signatures. */
export const signatureTokenHandlers = {
  createEc2Token: ofRequest,
  createS3Token: ofText,
}
