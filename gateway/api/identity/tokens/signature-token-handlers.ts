import type { operations } from '#openapi/identity.gen.ts'
import { tokenForRequest, tokenForText } from '../../../app/identity/signature-tokens.ts'
import { tokenCatalog } from '../../../app/identity/token-catalog.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { tokenBody } from '../../../views/identity/token.ts'

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
