import type { operations } from '#openapi/identity.gen.ts'
import { createService as makeService } from '../../../app/identity/change-catalog.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { serviceView } from '../../../views/identity/catalog.ts'

type Op = operations['createService']

/** POST /v3/services */
export async function createService({ app, body, links }: Call<Op>): Promise<Answer<Op>> {
  const { type, name, description, enabled, ...extra } = body.service
  const made = await makeService(app.identity, {
    type,
    name: name ?? '',
    description: description ?? '',
    enabled: enabled ?? true,
    extra,
  })
  return { body: { service: serviceView(made, links) } }
}
